"""Tables that a statement reads: their columns, versions, and what each scan of them has to give."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import reduce
from typing import Any

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression
from pyiceberg.schema import Schema
from sqlglot import exp

from frazil.errors import QueryError
from frazil.query.metadata import metadata_table
from frazil.query.names import Names, Source, answers
from frazil.query.newest import BOUNDED, Newest
from frazil.query.sql.expressions import Expressions
from frazil.query.sql.filters import Filter
from frazil.query.sql.relations import Column, Relation, Scope
from frazil.query.sql.types import VARCHAR, Type, from_arrow_field, from_iceberg, quoted, timestamptz
from frazil.query.sql.value import Reading, refuse

#: Columns that Trino has beside those of a table, in the order that scans give them.
HIDDEN: dict[str, Type] = {"$path": VARCHAR, "$partition": VARCHAR, "$file_modified_time": timestamptz(3)}
_PLACE = re.compile("\x00(\\d+)\x00")


@dataclass(frozen=True)
class Scan:
    """One place where a statement reads a table: under `view` the engine finds its `columns` and `hidden` columns.

    `rows` are those of a metadata table, for which nothing else applies.
    """

    view: str
    source: Source
    columns: tuple[str, ...]
    row_filter: BooleanExpression
    limit: int | None = None
    newest: Newest | None = None
    hidden: tuple[str, ...] = ()
    rows: pa.Table | None = None


@dataclass
class _Draft:
    source: Source
    schema: Schema | None
    rows: pa.Table | None = None
    filters: list[BooleanExpression] = field(default_factory=list)
    limit: int | None = None
    newest: Newest | None = None


class Tables:
    """Gives a statement its tables. `evaluate` computes the text of a constant."""

    def __init__(self, names: Names, evaluate: Callable[[str], Any]) -> None:
        self._names = names
        self._evaluate = evaluate
        self._drafts: list[_Draft] = []

    def read(self, node: exp.Table, alias: str, expressions: Expressions) -> Relation:
        """A scan of a table or metadata table. Raises QueryError when the table or its version does not exist."""
        source = self._source(node, expressions)
        number = len(self._drafts)
        text = f"\x00{number}\x00 AS {alias}"
        if source.metadata is not None:
            with answers():
                rows = metadata_table(source.table, source.metadata)
            self._drafts.append(_Draft(source, None, rows))
            columns = [
                Column(
                    field.name,
                    from_arrow_field(field),
                    f"{alias}.{quoted(field.name)}",
                    reads=frozenset({(number, field.name)}),
                )
                for field in rows.schema
            ]
            return Relation(text, tuple(columns))
        schema = source.schema
        self._drafts.append(_Draft(source, schema))
        columns = []
        for found in schema.fields:
            reading = frozenset({(number, found.name)})
            sql = f"{alias}.{quoted(found.name)}"
            columns.append(Column(found.name, from_iceberg(found.field_type), sql, reads=reading, origins=reading))
        for name, kind in HIDDEN.items():
            sql = f"{alias}.{quoted(name)}"
            columns.append(Column(name, kind, sql, reads=frozenset({(number, name)}), hidden=True))
        return Relation(text, tuple(columns))

    def qualified(self, node: exp.Table) -> tuple[str, ...]:
        """Catalog, schema and table, of which a statement may write the last ones before a column."""
        schema = node.db or self._names.default_schema
        return (self._names.catalog_name.lower(), schema.lower(), node.name.lower())

    def narrow(self, condition: exp.Expr, expressions: Expressions, reachable: frozenset[Reading]) -> bool:
        """Let scans leave out rows for which a condition cannot hold; whether one scan took all of it."""
        exact = False
        for number in sorted({number for number, _ in reachable}):

            def column(value: Any, number: int = number) -> str | None:
                if value.column is None:
                    return None
                names = [name for scan, name in value.column.origins & reachable if scan == number]
                return names[0] if names and not value.type.args and self._current(number, names[0]) else None

            taken = Filter(column, expressions, self._evaluate)
            found = taken.of(condition)
            if found is not None:
                self._drafts[number].filters.append(found)
                exact = taken.exact(condition)
        return exact

    def _current(self, number: int, name: str) -> bool:
        """Whether a column of an older version is the one that has its name now, which is what a scan filters by."""
        draft = self._drafts[number]
        if draft.schema is None or draft.source.snapshot_id is None:
            return True
        now = draft.source.table.schema()
        old = draft.schema.find_field(name)
        return name in now.column_names and now.find_field(name) == old

    def limit(self, columns: Sequence[Column], rows: int, newest: Column | None) -> None:
        """Note how many rows are wanted of the one table that the columns belong to, where it is one."""
        numbers = {number for column in columns for number, _ in column.reads}
        if len(numbers) != 1 or any(column.origins != column.reads for column in columns if not column.hidden):
            return
        draft = self._drafts[numbers.pop()]
        if newest is None:
            draft.limit = rows
        elif draft.schema is not None and newest.origins:
            [(_, name)] = newest.origins
            if isinstance(draft.schema.find_field(name).field_type, BOUNDED):
                draft.newest = Newest(name, rows)

    def finished(self, sql: str, needed: set[Reading], mentioned: set[Reading]) -> tuple[str, tuple[Scan, ...]]:
        """The text with the scans' names in it, and the scans."""
        scans = tuple(self._scan(number, draft, needed, mentioned) for number, draft in enumerate(self._drafts))
        texts = [_view(scan, draft) for scan, draft in zip(scans, self._drafts, strict=True)]
        return _PLACE.sub(lambda place: texts[int(place[1])], sql), scans

    def _scan(self, number: int, draft: _Draft, needed: set[Reading], mentioned: set[Reading]) -> Scan:
        view = f"frazil scan {number}"
        if draft.schema is None:
            return Scan(view, draft.source, (), AlwaysTrue(), rows=draft.rows)
        wanted = {path for scan, path in needed if scan == number}
        whole = {path for path in wanted if "." not in path}
        parts = {path.split(".")[0] for path in wanted} - whole
        # a field that is named somewhere but not needed has to exist all the same
        wanted |= {path for scan, path in mentioned if scan == number and "." in path and path.split(".")[0] in parts}
        columns: list[str] = []
        for column in draft.schema.fields:
            if column.name in whole:
                columns.append(column.name)
            else:
                inside = sorted(path for path in wanted if path.startswith(f"{column.name}."))
                columns += [path for path in inside if not any(path.startswith(f"{other}.") for other in inside)]
        always: BooleanExpression = AlwaysTrue()
        row_filter = reduce(And, draft.filters, always)
        hidden = tuple(name for name in HIDDEN if name in whole)
        return Scan(view, draft.source, tuple(columns), row_filter, draft.limit, draft.newest, hidden)

    def _source(self, node: exp.Table, expressions: Expressions) -> Source:
        if isinstance(node.this, exp.Dot):
            raise QueryError(f"{node.sql(comments=False)} has too many parts; a table is named catalog.schema.table")
        if not isinstance(node.this, exp.Identifier):
            called = node.this.sql(comments=False) if isinstance(node.this, exp.Expr) else str(node.this)
            refuse(f"the table function {called[:80]}")
        source = self._names.source([part.name for part in node.parts])
        version = node.args.get("version")
        if node.args.get("when") or (version is not None and version.args.get("kind") != "AS OF"):
            refuse("a version that is not AS OF")
        if version is None:
            return source
        if source.metadata is not None:
            raise QueryError(f"{node.name} is a metadata table, which has no versions")
        value = expressions.value(version.expression, Scope())
        if not value.constant:
            raise QueryError("the version of a table has to be a constant")
        found = self._evaluate(value.sql)
        if "TIMESTAMP" in str(version.this).upper():
            return source.as_of(_moment(found))
        if not isinstance(found, int | str) or isinstance(found, bool):
            raise QueryError(f"FOR VERSION AS OF needs a snapshot id, a branch or a tag, not {value.type}")
        return source.version(found)


def _moment(found: Any) -> datetime:
    if isinstance(found, datetime):
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    if isinstance(found, date):
        return datetime(found.year, found.month, found.day, tzinfo=UTC)
    raise QueryError("FOR TIMESTAMP AS OF needs a date or a timestamp")


def _view(scan: Scan, draft: _Draft) -> str:
    """What stands for a scan: its columns, and a null for each column that nobody needs."""
    if draft.schema is None:
        return quoted(scan.view)
    given = {path.split(".")[0] for path in scan.columns}
    listed = [
        quoted(column.name)
        if column.name in given
        else f"NULL::{from_iceberg(column.field_type).duckdb} AS {quoted(column.name)}"
        for column in draft.schema.fields
    ]
    listed += [
        quoted(name) if name in scan.hidden else f"NULL::{kind.duckdb} AS {quoted(name)}"
        for name, kind in HIDDEN.items()
    ]
    return f"(SELECT {', '.join(listed)} FROM {quoted(scan.view)})"
