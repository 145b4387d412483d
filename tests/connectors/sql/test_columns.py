"""Columns of topics: from their text to Spark, and from Spark's rows to the pipeline."""

from __future__ import annotations

import pyarrow as pa
import pytest

from frazil.connectors.sql.columns import parse_columns, shape_of, spark_columns
from frazil.pipeline.convert.arrow import arrow_schema


def test_columns_are_those_of_create_table() -> None:
    text = """
        id BIGINT NOT NULL, n INT, yes BOOLEAN, f FLOAT, d DOUBLE, price DECIMAL(10, 2), page STRING, raw BINARY,
        day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, `odd name` STRING,
        items ARRAY<STRUCT<sku: STRING, n: INT>>, tags MAP<STRING, ARRAY<INT>>
    """
    found = parse_columns(text)
    assert str(found) == (
        "struct<id: long, n: int, yes: boolean, f: float, d: double, price: decimal(10,2), page: string, raw: binary, "
        "day: date, at: timestamptz, local: timestamp, odd name: string, items: list<struct<sku: string, n: int>>, "
        "tags: map<string, list<int>>>"
    )
    assert [field.name for field in found.fields if field.required] == ["id"]
    assert str(parse_columns(spark_columns(found))) == str(found)
    whole = pa.struct(list(arrow_schema(found)))
    assert str(shape_of(whole)[0]) == str(found), "what goes to Spark comes back as it was"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id", "'id' is no column; write name TYPE"),
        ("id TINYINT", "column id: TINYINT is no type here"),
        ("id VARCHAR(3)", "column id: VARCHAR(3) is no type here"),
        ("a STRUCT<b: ARRAY<SMALLINT>>", "column a.b[]: SMALLINT is no type here"),
        ("a MAP<INT, INT>", "keys of a map are STRING"),
        ("a DECIMAL(40, 2)", "precision of 1 to 38"),
        ("a INT, A INT", "column A: it is there twice"),
        ("_a INT", "names that begin with _"),
        ("a INT DEFAULT 3", "can be NOT NULL, and nothing else"),
        ("a INT) USING csv (", "columns are written as name TYPE"),
        ("a INT,\n b FOO", "line 2, column 4: "),
        ("a 'x", "line 1, column 3: Missing '"),
    ],
)
def test_wrong_columns_are_told_apart(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=".") as raised:
        parse_columns(text)
    assert said in str(raised.value)


@pytest.mark.parametrize("type_", [pa.duration("us"), pa.null(), pa.list_(pa.month_day_nano_interval())])
def test_types_that_no_table_holds_are_named(type_: pa.DataType) -> None:
    with pytest.raises(ValueError, match=r"column x is of type .* which no table holds"):
        shape_of(type_, "x.")
