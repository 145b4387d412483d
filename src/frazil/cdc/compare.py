"""Comparison of a table with the table of PostgreSQL that it follows, row by row.

Rows of both sides fall into buckets by their keys; a bucket has one sum of the digests of its rows. Only buckets whose
sums differ are read again, for the keys that differ.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.types import IntegerType, StringType

from frazil.cdc.values import Form, form_of
from frazil.clients.postgres import connect
from frazil.connectors.checks.result import Sum, digest
from frazil.errors import ConfigError, NotFound
from frazil.pipeline.transforms.plugin import CURRENT

_BUCKETS = 4096
_CHUNK = 10_000
_HEX = "^([0-9a-f]{2})*$"

Row = tuple[tuple[object, ...], int]
"""Key and digest of a row."""
Progress = Callable[[str], None]

_COLUMNS = """
SELECT a.attname, COALESCE(b.typname, t.typname), a.atttypmod, t.typtype = 'd',
       COALESCE(a.attnum = ANY (i.indkey), false) AS is_key
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type b ON b.oid = t.typbasetype
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum
"""
_INTERVAL = """
((EXTRACT(YEAR FROM {0}) * 12 + EXTRACT(MONTH FROM {0})) * 30.4375 + EXTRACT(DAY FROM {0})) * 86400000000
+ EXTRACT(HOUR FROM {0}) * 3600000000 + EXTRACT(MINUTE FROM {0}) * 60000000 + EXTRACT(MICROSECONDS FROM {0})
"""


@dataclass
class Comparison:
    """Findings. `missing` are keys of rows that only the database has, `surplus` those that only the table has, `other`
    those whose rows differ, with the columns. `absent` are columns of the database that the table lacks.

    `versions`: the table keeps those of rows. `deleted`: surplus rows that were there, and were deleted.
    """

    source: str
    target: str
    rows: int = 0
    stored: int = 0
    missing: list[dict[str, Any]] = field(default_factory=list)
    surplus: list[dict[str, Any]] = field(default_factory=list)
    other: list[dict[str, Any]] = field(default_factory=list)
    doubled: int = 0
    absent: list[str] = field(default_factory=list)
    versions: bool = False
    deleted: int = 0

    @property
    def equal(self) -> bool:
        """Whether the table has the rows of the database, each once and as they are."""
        return not (self.missing or self.surplus or self.other or self.doubled)


@dataclass(frozen=True)
class Shape:
    """Columns of a table of PostgreSQL that are compared, with the form of their values, and the key among them.

    `selects` are the expressions that the database is asked for, where it is not the column.
    """

    columns: tuple[str, ...]
    key: tuple[str, ...]
    forms: Mapping[str, Form]
    selects: Mapping[str, str]

    def row(self, values: Mapping[str, Any]) -> Row:
        found = {name: None if values.get(name) is None else self.forms[name](values[name]) for name in self.columns}
        return tuple(found[name] for name in self.key), digest(repr([found[name] for name in self.columns]).encode())


class Database:
    """PostgreSQL, asked within one read-only transaction, whose view of the rows stays the same."""

    def __init__(self, access: Mapping[str, Any]) -> None:
        """Raises ServiceUnavailable when it does not answer or does not let the user in."""
        self._connection = connect(access)
        import psycopg
        from psycopg.types.string import TextLoader

        self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self._connection.read_only = True
        self._connection.execute("SET row_security = off")  # which refuses what it would leave out
        self._connection.execute("SET DateStyle = 'ISO'")
        self._connection.execute("SET TimeZone = 'UTC'")
        for type_ in ("json", "jsonb", "date", "time", "timetz", "timestamp", "timestamptz"):
            self._connection.adapters.register_loader(type_, TextLoader)  # Python has not all values of times

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def has(self, schema: str, table: str) -> bool:
        """Whether there is a table that the user may see."""
        return bool(self._connection.execute(_COLUMNS, [schema, table]).fetchone())

    def is_standby(self) -> bool:
        """Whether the server follows another one."""
        return self._connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)

    def shape(self, schema: str, table: str, stored: Table, branch: str, *, typed: bool) -> Shape:
        """The columns of a table, but generated ones, which Debezium does not send, for comparison with `stored`.

        `typed`: its columns have the types of Debezium's schemas. Raises NotFound for no table, ConfigError for one
        without primary key.
        """
        found = self._connection.execute(_COLUMNS, [schema, table]).fetchall()
        if not found:
            raise NotFound(f"the database has no table {schema}.{table} that the user may see")
        key = tuple(name for name, *_, is_key in found if is_key)
        if not key:
            raise ConfigError(f"{schema}.{table} has no primary key, by which rows could be compared")
        whole = {column.name for column in stored.schema().fields if isinstance(column.field_type, IntegerType)}
        texts = {column.name for column in stored.schema().fields if isinstance(column.field_type, StringType)}
        forms = {}
        for name, kind, digits, is_domain, _ in found:
            millis = 0 <= digits <= 3 if "stamp" in kind else name in whole
            of_hex = kind == "bytea" and name in texts and is_hex(stored, branch, name)
            forms[name] = form_of(kind, millis=millis if typed and not is_domain else None, of_hex=of_hex)
        selects = {name: _INTERVAL for name, kind, *_ in found if kind == "interval"}
        return Shape(tuple(name for name, *_ in found), key, forms, selects)

    def rows(self, schema: str, table: str, shape: Shape) -> Iterator[Row]:
        """Give the rows."""
        from psycopg import sql
        from psycopg.rows import dict_row

        statement = sql.SQL("SELECT {} FROM {}").format(
            sql.SQL(", ").join(
                sql.SQL(shape.selects.get(name, "{0}") + " AS {0}").format(sql.Identifier(name))
                for name in shape.columns
            ),
            sql.Identifier(schema, table),
        )
        with self._connection.cursor("frazil_compare", row_factory=dict_row) as cursor:
            cursor.itersize = _CHUNK
            for row in cursor.execute(statement):
                yield shape.row(row)


def compare(
    database: Database,
    schema: str,
    name: str,
    table: Table,
    progress: Progress,
    *,
    branch: str = MAIN_BRANCH,
    versions: bool = False,
    typed: bool = False,
) -> Comparison:
    """Compare a table of PostgreSQL with a branch of a table, both as they are now.

    With `versions` the table keeps those of rows, of which the current ones count; `typed` as `shape` has it. Raises
    NotFound or ConfigError for a table that cannot be compared, ServiceUnavailable.
    """
    shape = database.shape(schema, name, table, branch, typed=typed)
    result = Comparison(f"{schema}.{name}", ".".join(table.name()), versions=versions)
    present = {column.name for column in table.schema().fields}
    result.absent = [column for column in shape.columns if column not in present]
    lacking = [column for column in shape.key if column not in present]
    if lacking:
        raise ConfigError(f"{result.target} has no column {', '.join(lacking)}, of the primary key of {result.source}")
    progress(f"{result.source}: rows of the database")
    ours, result.rows = _sums(database.rows(schema, name, shape))
    progress(f"{result.source}: rows of {result.target}")
    theirs, result.stored = _sums(_stored(table, branch, shape, versions))
    differing = {bucket for bucket in ours.keys() | theirs.keys() if ours.get(bucket) != theirs.get(bucket)}
    if differing:
        progress(f"{result.source}: keys that differ")
        _name(result, shape, differing, database.rows(schema, name, shape), _stored(table, branch, shape, versions))
    return result


def scan(table: Table, branch: str, columns: tuple[str, ...], rows: str = "true") -> pa.RecordBatchReader:
    """Read rows of a branch; of main while the branch is not there, which is made from it."""
    head = table.metadata.snapshot_by_name(branch)
    snapshot = None if head is None else head.snapshot_id
    return table.scan(rows, selected_fields=columns, snapshot_id=snapshot).to_arrow_batch_reader()


def is_hex(table: Table, branch: str, column: str) -> bool:
    """Whether all texts of a column are bytes in hexadecimal, as Debezium writes them; Base64 hardly ever is."""
    texts = (batch.column(0) for batch in scan(table, branch, (column,)))
    return all(pc.all(pc.match_substring_regex(part, _HEX)).as_py() is not False for part in texts)


def _stored(table: Table, branch: str, shape: Shape, versions: bool) -> Iterator[Row]:
    present = {column.name for column in table.schema().fields}
    selected = tuple(column for column in shape.columns if column in present)
    for batch in scan(table, branch, selected, f"{CURRENT} = true" if versions else "true"):
        for row in batch.to_pylist():
            yield shape.row(row)


def _bucket(key: tuple[object, ...]) -> int:
    return digest(repr(key).encode()) % _BUCKETS


def _sums(rows: Iterator[Row]) -> tuple[dict[int, tuple[int, int]], int]:
    """The number of rows and the sum of their digests by bucket, and the number of all rows."""
    found: dict[int, tuple[int, Sum]] = {}
    total = 0
    for key, one in rows:
        bucket = _bucket(key)
        count, sum_ = found.get(bucket) or (0, Sum())
        sum_.add(one)
        found[bucket] = count + 1, sum_
        total += 1
    return {bucket: (count, sum_.value) for bucket, (count, sum_) in found.items()}, total


def _name(result: Comparison, shape: Shape, buckets: set[int], ours: Iterator[Row], theirs: Iterator[Row]) -> None:
    """Find the keys that differ in some buckets."""
    expected = {key: one for key, one in ours if _bucket(key) in buckets}
    stored: dict[tuple[object, ...], int] = {}
    for key, one in theirs:
        if _bucket(key) in buckets:
            result.doubled += key in stored and key in expected
            stored[key] = one
    for keys, found in (
        (expected.keys() - stored.keys(), result.missing),
        (stored.keys() - expected.keys(), result.surplus),
        ({key for key in expected.keys() & stored.keys() if expected[key] != stored[key]}, result.other),
    ):
        found += [dict(zip(shape.key, key, strict=True)) for key in sorted(keys, key=repr)]


def tables_of(topics: Sequence[str], names: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """The schema and table of PostgreSQL that each table follows, by the topics `prefix.schema.table`.

    All that a topic may stand for, as prefix and table may have dots in their names: the shortest name of a table
    first. Tables that no topic is named like are left out, unless there is one topic and one table.
    """
    sources = [topic.split(".") for topic in topics if topic.count(".") >= 2]
    if len(sources) == len(names) == 1:
        return {names[0]: _readings(sources[0])}
    found = {}
    for name in names:
        last = name.rpartition(".")[2].lower()
        like = [parts for parts in sources if parts[-1].lower() == last]
        if len(like) == 1:
            found[name] = _readings(like[0])
    return found


def _readings(parts: Sequence[str]) -> list[tuple[str, str]]:
    return [(parts[at], ".".join(parts[at + 1 :])) for at in range(len(parts) - 2, 0, -1)]
