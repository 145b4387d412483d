from __future__ import annotations

import pyarrow as pa
import pytest

from frazil.minio.records.tables import API_SCHEMA, ERROR_SCHEMA
from frazil.sql.translation.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    UNKNOWN,
    VARCHAR,
    Type,
    array,
    coercible,
    common_type,
    decimal,
    from_arrow,
    from_iceberg,
    parse_type,
    text,
    timestamp,
    timestamptz,
)
from frazil.text.quoting import identifier


@pytest.mark.parametrize(
    ("written", "shown", "duckdb"),
    [
        ("bigint", "bigint", "BIGINT"),
        ("decimal(10, 2)", "decimal(10,2)", "DECIMAL(10,2)"),
        ("timestamptz(6)", "timestamp(6) with time zone", "TIMESTAMPTZ"),
        ("map(varchar, array(double))", "map(varchar, array(double))", "MAP(VARCHAR, DOUBLE[])"),
        ("real", "real", "FLOAT"),
        ("json", "json", "VARCHAR"),
    ],
)
def test_spellings(written: str, shown: str, duckdb: str) -> None:
    assert (str(parse_type(written)), parse_type(written).duckdb) == (shown, duckdb)


def test_types_of_tables() -> None:
    kinds = {field.name: str(from_iceberg(field.field_type)) for field in ERROR_SCHEMA.fields}
    assert kinds["time"] == "timestamp(6) with time zone"
    assert kinds["trace"] == "row(source array(varchar), variables map(varchar, varchar))"
    call = from_iceberg(API_SCHEMA.find_field("callInfo").field_type)
    assert str(call).startswith("row(httpStatusCode integer, rx bigint")
    assert call.duckdb.startswith('STRUCT("httpStatusCode" INTEGER, "rx" BIGINT')
    assert str(from_arrow(pa.timestamp("ms", tz="UTC"))) == "timestamp(3) with time zone"
    assert str(from_arrow(pa.map_(pa.int32(), pa.list_(pa.string())))) == "map(integer, array(varchar))"


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (INTEGER, BIGINT, BIGINT),
        (BIGINT, decimal(5, 2), decimal(21, 2)),
        (decimal(5, 2), decimal(4, 3), decimal(6, 3)),
        (decimal(5, 2), DOUBLE, DOUBLE),
        (UNKNOWN, VARCHAR, VARCHAR),
        (DATE, timestamp(3), timestamp(3)),
        (timestamp(0), timestamptz(6), timestamptz(6)),
        (array(INTEGER), array(BIGINT), array(BIGINT)),
        (VARCHAR, INTEGER, None),
        (array(VARCHAR), VARCHAR, None),
        (Type("row", (INTEGER,), ("x",)), Type("row", (BIGINT,), ("x",)), Type("row", (BIGINT,), ("x",))),
        (Type("row", (INTEGER,), ("x",)), Type("row", (BIGINT,), ("y",)), None),
        (timestamptz(3), timestamptz(3, "Europe/Vienna"), None),
    ],
)
def test_common_types(left: Type, right: Type, common: Type | None) -> None:
    assert common_type(left, right) == common
    assert common_type(right, left) == common


def test_what_needs_a_cast() -> None:
    assert coercible(INTEGER, DOUBLE)
    assert coercible(DATE, timestamptz(3))
    assert not coercible(BIGINT, INTEGER)
    assert not coercible(DOUBLE, decimal(10, 2))
    assert not coercible(VARCHAR, DATE)


def test_quotes() -> None:
    assert (identifier('a"b'), text("it's")) == ('"a""b"', "'it''s'")
