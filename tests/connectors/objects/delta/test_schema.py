"""Columns of Delta tables, and what they become with new fields."""

from __future__ import annotations

import pyarrow as pa
import pytest

from frazil.connectors.objects.delta.schema import arrow_of, columns_of
from frazil.errors import ConfigError
from frazil.pipeline.convert.infer import widened
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct

LONG = Scalar("long")


def test_columns_and_back() -> None:
    schema = pa.schema(
        [
            pa.field("a", pa.int64(), nullable=False),
            ("s", pa.struct([("x", pa.string()), ("y", pa.timestamp("us", "UTC"))])),
            ("l", pa.list_(pa.field("element", pa.decimal128(10, 2)))),
            ("m", pa.map_(pa.string(), pa.date32())),
        ]
    )
    found = columns_of(schema)
    assert found.fields[0] == Field("a", LONG, required=True)
    assert columns_of(arrow_of(found)) == found
    assert columns_of(pa.schema([("a", pa.large_string())])) == Struct((Field("a", STRING),))
    with pytest.raises(ConfigError, match="column a of the Delta table has type int16, which is not written"):
        columns_of(pa.schema([("a", pa.int16())]))


def test_new_fields() -> None:
    inner = Struct((Field("x", STRING),))
    before = Struct((Field("s", inner), Field("l", List(inner)), Field("m", Map(STRING, inner))))
    after = widened(
        before,
        {("n",): LONG, ("s", "y"): LONG, ("l", "element", "y"): LONG, ("m", "value", "y"): LONG, ("s", "x"): LONG},
    )
    wider = Struct((Field("x", STRING), Field("y", LONG)))
    assert after == Struct(
        (Field("s", wider), Field("l", List(wider)), Field("m", Map(STRING, wider)), Field("n", LONG))
    )
    assert widened(before, {("s",): LONG, ("s", "x", "z"): LONG}) == before


def test_names_that_differ_only_in_case_are_one_column() -> None:
    before = Struct((Field("a", LONG),))
    assert widened(before, {("A",): STRING, ("B",): LONG, ("b",): STRING}) == Struct((*before.fields, Field("B", LONG)))
