from __future__ import annotations

import io
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frazil.sql.parquet import arrow_table, arrow_type, write_parquet
from frazil.sql.result import Result

WHEN = datetime(2025, 1, 15, 10, 30, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("trino", "arrow"),
    [
        ("boolean", pa.bool_()),
        ("tinyint", pa.int8()),
        ("integer", pa.int32()),
        ("bigint", pa.int64()),
        ("real", pa.float32()),
        ("double", pa.float64()),
        ("decimal(12,3)", pa.decimal128(12, 3)),
        ("varchar", pa.string()),
        ("varchar(10)", pa.string()),
        ("char(3)", pa.string()),
        ("varbinary", pa.binary()),
        ("date", pa.date32()),
        ("time(6)", pa.time64("us")),
        ("timestamp(6)", pa.timestamp("us")),
        ("timestamp(6) with time zone", pa.timestamp("us", tz="UTC")),
        ("timestamp(3) with time zone", pa.timestamp("us", tz="UTC")),
        ("timestamp(9)", pa.timestamp("ns")),
        ("uuid", pa.string()),
        ("json", pa.string()),
        ("unknown", pa.string()),
        ("interval day to second", pa.string()),
        ("array(map(varchar, bigint))", pa.list_(pa.map_(pa.string(), pa.int64()))),
        (
            'row("httpStatusCode" integer, tags map(varchar, varchar))',
            pa.struct([("httpStatusCode", pa.int32()), ("tags", pa.map_(pa.string(), pa.string()))]),
        ),
        ("row(bigint, varchar)", pa.struct([("field0", pa.int64()), ("field1", pa.string())])),
    ],
)
def test_types_of_trino(trino: str, arrow: pa.DataType) -> None:
    assert arrow_type(trino) == arrow


def test_an_arrow_table_is_written_as_it_is() -> None:
    table = pa.table(
        {"a": pa.array([WHEN], pa.timestamp("ns", "UTC")), "b": pa.array([[("k", 1)]], pa.map_("string", "int64"))}
    )
    out = io.BytesIO()
    write_parquet(Result(("a", "a"), [], arrow=table), out)
    found = pq.read_table(io.BytesIO(out.getvalue()))
    assert found.column_names == ["a", "a_2"]
    assert found.schema.types == table.schema.types
    assert found.column(0).to_pylist() == table.column(0).to_pylist()


VALUES: dict[str, Any] = {
    "bigint": 2**63 - 1,
    "varchar": "ø\n",
    "decimal(5,2)": Decimal("1.50"),
    "timestamp(6) with time zone": WHEN,
    "date": date(2025, 1, 15),
    "time(6)": time(1, 2, 3, 4),
    "varbinary": b"\x00\xff",
    "array(bigint)": [1, None],
    'row("A" bigint, b varchar)': {"A": 1, "b": None},
}


def test_rows_with_trinos_types_keep_them() -> None:
    result = Result(tuple(VALUES), [tuple(VALUES.values()), (None,) * len(VALUES)], types=tuple(VALUES))
    out = io.BytesIO()
    write_parquet(result, out)
    found = pq.read_table(io.BytesIO(out.getvalue()))
    assert found.schema.types == [arrow_type(name) for name in VALUES]
    assert [tuple(row.values()) for row in found.to_pylist()] == list(result.rows)


def test_what_arrow_has_no_type_for_becomes_text() -> None:
    key = UUID("00000000-0000-4000-8000-000000000001")
    table = arrow_table(Result(("u", "m"), [(key, {"k": key})], types=("uuid", "map(varchar, uuid)")))
    assert table.to_pylist() == [{"u": str(key), "m": [("k", str(key))]}]


def test_names_are_text() -> None:
    assert arrow_table(Result(("Table",), [("apilogs",)])).to_pylist() == [{"Table": "apilogs"}]
