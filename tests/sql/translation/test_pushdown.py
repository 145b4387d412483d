"""Columns that a statement does not need are not read, which changes no answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StringType, StructType

from frazil.sql.names import Names
from frazil.sql.session import session
from frazil.sql.statements import split
from frazil.sql.translate import translate
from frazil.sql.translation.scans import Tables
from tests.sql.catalogs import MetadataCatalog

CALL = StructType(NestedField(5, "Status", IntegerType()), NestedField(6, "host", StringType()))
SCHEMA = Schema(
    NestedField(1, "id", IntegerType()),
    NestedField(2, "Name", StringType()),
    NestedField(3, "note", StringType()),
    NestedField(4, "call", CALL),
)
ROWS = [
    {
        "id": i,
        "Name": "abc"[i % 3],
        "note": None if i % 2 else f"n{i}",
        "call": {"Status": i * 100, "host": f"h{i % 2}"},
    }
    for i in range(7)
] + [{"id": None, "Name": None, "note": "x", "call": None}]
STATEMENTS = [
    "SELECT * FROM t",
    "SELECT a.name, b.name, b.id FROM t a JOIN t b ON a.id = b.id + 1",
    "SELECT x.call.status FROM (SELECT call, note FROM t) x WHERE x.note IS NOT NULL",
    "SELECT c.host FROM (SELECT call AS c, call.status AS s FROM t) ORDER BY s",
    "SELECT n FROM (SELECT name, count(*) AS n FROM t GROUP BY name)",
    "SELECT i FROM (SELECT DISTINCT id AS i, name FROM t)",
    "SELECT i FROM (SELECT id AS i, name AS n FROM t UNION ALL SELECT call.status, note FROM t)",
    "SELECT i FROM (SELECT id AS i, name AS n FROM t UNION SELECT call.status, note FROM t)",
    "SELECT i FROM (SELECT id AS i, name AS n FROM t EXCEPT SELECT id, note FROM t)",
    "WITH w AS (SELECT *, row_number() OVER (PARTITION BY name ORDER BY id) AS r FROM t) SELECT id FROM w WHERE r = 1",
    "SELECT (SELECT max(note) FROM t u WHERE u.name = t.name) FROM t",
    "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.id = t.call.status)",
    "SELECT id FROM t WHERE name IN (SELECT call.host FROM t) OR note LIKE 'n%'",
    "SELECT p FROM t CROSS JOIN UNNEST(split(note, 'n')) AS u (p)",
    "SELECT name FROM t GROUP BY name HAVING max(call.status) > 300 ORDER BY min(note)",
    "SELECT t.id FROM t LEFT JOIN (SELECT id, note AS m FROM t WHERE call.host = 'h1') j USING (id) WHERE m IS NULL",
    "SELECT count(DISTINCT name) FILTER (WHERE note IS NULL) OVER (PARTITION BY call.host) FROM t",
]


def answer(sql: str) -> tuple[tuple[str, ...], list[str]]:
    [statement] = split(sql)
    data = pa.Table.from_pylist(ROWS, schema=schema_to_pyarrow(SCHEMA, include_field_ids=False))
    with session(256 << 20) as opened:
        found = translate(statement, Names(MetadataCatalog({"t": SCHEMA}), "w", "streaming"), opened.evaluate)
        for scan in found.scans:
            opened.register(scan.view, _read(data, scan.columns))
        rows = opened.reader(found.sql, 100).read_all()
    named = rows.rename_columns([f"c{number}" for number in range(rows.num_columns)])
    return found.columns, sorted(map(str, named.to_pylist()))


def _read(data: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    """What a scan gives: whole columns, and rows with some of their fields."""
    found: dict[str, Any] = {"rows": pa.nulls(data.num_rows)}
    for name in dict.fromkeys(path.split(".")[0] for path in columns):
        column = data.column(name).combine_chunks()
        fields = [path.split(".")[1] for path in columns if path.startswith(f"{name}.")]
        parts = [column.field(field) for field in fields]
        found[name] = pa.StructArray.from_arrays(parts, fields, mask=column.is_null()) if fields else column
    return pa.table(found)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_what_is_not_read_changes_no_answer(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pruned = answer(sql)
    read = Tables.read

    def all_of(self: Tables, *arguments: Any) -> Any:
        view, name = read(self, *arguments)
        for column in self.visible(view):
            self.need(view, column, (), needed=True)
        return view, name

    monkeypatch.setattr(Tables, "read", all_of)
    assert pruned == answer(sql)
    assert pruned[1]
