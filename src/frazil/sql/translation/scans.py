"""Tables that a statement reads: their columns, versions, and what each scan of them has to give."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import reduce
from typing import Any

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression
from pyiceberg.schema import Schema
from sqlglot import exp

from frazil.errors import QueryError
from frazil.sql.metadata import metadata_table
from frazil.sql.names import Names, Source, answers
from frazil.sql.newest import BOUNDED, Newest
from frazil.sql.translation.twins import distinct, twins
from frazil.sql.translation.types import VARCHAR, Type, from_arrow_field, from_iceberg, timestamptz
from frazil.sql.translation.value import Value, refuse
from frazil.text.quoting import identifier

#: Columns that Trino has beside those of a table, in the order that scans give them.
HIDDEN: dict[str, Type] = {"$path": VARCHAR, "$partition": VARCHAR, "$file_modified_time": timestamptz(3)}


@dataclass(frozen=True)
class Scan:
    """Scan of a table by a statement: under `view` the engine finds its `columns` and `hidden` columns.

    `names` are those of columns in the engine where the table has other columns of the name in another case. `rows` are
    those of a metadata table, for which nothing else applies.
    """

    view: str
    source: Source
    columns: tuple[str, ...]
    row_filter: BooleanExpression
    limit: int | None = None
    newest: Newest | None = None
    hidden: tuple[str, ...] = ()
    rows: pa.Table | None = None
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Draft:
    source: Source
    types: dict[str, Type] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)
    schema: Schema | None = None
    rows: pa.Table | None = None
    needed: set[tuple[str, ...]] = field(default_factory=set)
    mentioned: set[tuple[str, ...]] = field(default_factory=set)
    filters: list[BooleanExpression] = field(default_factory=list)
    limit: int | None = None
    newest: Newest | None = None


class Tables:
    """Gives a statement its tables. `evaluate` computes the text of a constant."""

    def __init__(self, names: Names, evaluate: Callable[[str], Any]) -> None:
        self._names = names
        self.evaluate = evaluate
        self._drafts: dict[str, _Draft] = {}

    def read(self, node: exp.Table, constant: Callable[[exp.Expr], Value]) -> tuple[str, tuple[str, str, str]]:
        """Name of a new scan of a table, and the table's full name.

        Raises QueryError when the table or its version does not exist.
        """
        source = self._source(node, constant)
        if source.metadata is not None:
            with answers():
                rows = metadata_table(source.table, source.metadata)
            found = {one.name: from_arrow_field(one) for one in rows.schema}
            draft = _Draft(source, rows=rows)
        else:
            found = {one.name: from_iceberg(one.field_type) for one in source.schema.fields}
            draft = _Draft(source, schema=source.schema)
        number = len(self._drafts)
        names = [name.lower() for name in distinct(list(found), f"{number}.")]
        draft.names = dict(zip(names, found, strict=True))
        draft.types = dict(zip(names, found.values(), strict=True)) | (HIDDEN if draft.schema else {})
        draft.twins = {name: written.lower() for name, written in draft.names.items() if written.lower() != name}
        view = f"frazil scan {number}"
        self._drafts[view] = draft
        schema = node.db or self._names.default_schema
        return view, (self._names.catalog_name.lower(), schema.lower(), node.name.lower())

    def schema(self) -> dict[str, dict[str, Type]]:
        """Columns of each scan with their types, by names in lower case; twins have names of their own."""
        return {view: draft.types for view, draft in self._drafts.items()}

    def resolvable(self) -> dict[str, list[str]]:
        """Names of each scan's columns that a statement may write, and the own names of twins, all in lower case."""
        return {view: [*draft.types, *dict.fromkeys(draft.twins.values())] for view, draft in self._drafts.items()}

    def plain(self, column: str) -> str:
        """Name in lower case of a column, for a twin the one that it shares."""
        return next((draft.twins[column] for draft in self._drafts.values() if column in draft.twins), column)

    def visible(self, view: str) -> list[str]:
        """Columns of a scan that `*` stands for."""
        return list(self._drafts[view].names)

    def spelling(self) -> dict[str, str]:
        """Names of columns as the tables have them, by their names in lower case."""
        return {lower: name for draft in self._drafts.values() for lower, name in draft.names.items()}

    def need(self, view: str, column: str, path: tuple[str, ...], *, needed: bool) -> None:
        """Have a column, or a field inside it, read; one that is not needed only has to exist."""
        draft = self._drafts[view]
        found = (draft.names.get(column, column), *_without_twins(draft.types[column], path))
        (draft.needed if needed else draft.mentioned).add(found)

    def filterable(self, view: str, column: str, kind: Type) -> str | None:
        """The column that a scan can filter by, where it has the type and the name of now."""
        draft = self._drafts[view]
        name = draft.names.get(column)
        if name is None or draft.schema is None or kind.args or draft.types[column] != kind:
            return None
        now = draft.source.table.schema()
        steady = draft.source.snapshot_id is None or (
            name in now.column_names and now.find_field(name) == draft.schema.find_field(name)
        )
        return name if steady else None

    def narrow(self, view: str, condition: BooleanExpression) -> None:
        """Let a scan leave out rows for which a condition does not hold."""
        self._drafts[view].filters.append(condition)

    def limit(self, view: str, rows: int, newest: str | None) -> None:
        """Limit a scan to so many rows; those with the greatest values of `newest`, if it is given."""
        draft = self._drafts[view]
        if newest is None:
            draft.limit = rows
        elif draft.schema is not None and newest in draft.names:
            found = draft.schema.find_field(draft.names[newest])
            if isinstance(found.field_type, BOUNDED):
                draft.newest = Newest(found.name, rows)

    def scans(self) -> tuple[Scan, ...]:
        """Scans to be read."""
        return tuple(self._scan(view, draft) for view, draft in self._drafts.items())

    def text(self, scan: Scan) -> str:
        """Text that stands for a scan: its columns, and a null for each column that nobody needs."""
        draft = self._drafts[scan.view]
        given = {column for column, *_ in draft.needed}
        listed = [
            f"{identifier(inside) if draft.schema is None or name in given else f'NULL::{kind.duckdb}'} "
            f"AS {identifier(lower)}"
            for lower, kind in draft.types.items()
            for name in [draft.names.get(lower, lower)]
            for inside in [lower if lower in draft.twins else name]
        ]
        return f"(SELECT {', '.join(listed)} FROM {identifier(scan.view)})"

    def _scan(self, view: str, draft: _Draft) -> Scan:
        if draft.schema is None:
            return Scan(view, draft.source, (), AlwaysTrue(), rows=draft.rows)
        whole = {column for column, *inside in draft.needed if not inside}
        parts = {column for column, *_ in draft.needed} - whole
        # a field that is named somewhere but not needed has to exist all the same
        wanted = draft.needed | {path for path in draft.mentioned if len(path) > 1 and path[0] in parts}
        columns: list[str] = []
        for column in draft.schema.fields:
            if column.name in whole:
                columns.append(column.name)
            else:
                inside = sorted(".".join(path) for path in wanted if path[0] == column.name)
                columns += [path for path in inside if not any(path.startswith(f"{other}.") for other in inside)]
        always: BooleanExpression = AlwaysTrue()
        row_filter = reduce(And, draft.filters, always)
        hidden = tuple(name for name in HIDDEN if name in whole)
        names = {draft.names[inside]: inside for inside in draft.twins}
        return Scan(view, draft.source, tuple(columns), row_filter, draft.limit, draft.newest, hidden, names=names)

    def _source(self, node: exp.Table, constant: Callable[[exp.Expr], Value]) -> Source:
        if isinstance(node.this, exp.Dot):
            raise QueryError(f"{node.sql(comments=False)} has too many parts; a table is named catalog.schema.table")
        if not isinstance(node.this, exp.Identifier):
            called = node.this.sql(comments=False) if isinstance(node.this, exp.Expr) else str(node.this)
            refuse(f"the table function {called[:80]}")
        source = self._names.source([part.name for part in node.parts])
        version = node.args.get("version")
        if version is None:
            return source
        if version.args.get("kind") != "AS OF":
            refuse("a version that is not AS OF")
        if source.metadata is not None:
            raise QueryError(f"{node.name} is a metadata table, which has no versions")
        value = constant(version.expression) if not version.expression.find(exp.Query, exp.Column) else None
        if value is None or not value.constant:
            raise QueryError("the version of a table has to be a constant")
        found = self.evaluate(value.sql)
        if "TIMESTAMP" in str(version.this).upper():
            return source.as_of(_moment(found))
        if not isinstance(found, int | str) or isinstance(found, bool):
            raise QueryError(f"FOR VERSION AS OF needs a snapshot id, a branch or a tag, not {value.type}")
        return source.version(found)


def _without_twins(kind: Type, path: tuple[str, ...]) -> tuple[str, ...]:
    """The path as far as no row on it has twins: of such a row all fields are read, or its names would change."""
    for depth, name in enumerate(path):
        if twins(kind.fields):
            return path[:depth]
        kind = kind.args[kind.fields.index(name)]
    return path


def _moment(found: Any) -> datetime:
    if isinstance(found, datetime):
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    if isinstance(found, date):
        return datetime(found.year, found.month, found.day, tzinfo=UTC)
    raise QueryError("FOR TIMESTAMP AS OF needs a date or a timestamp")
