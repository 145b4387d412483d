"""Nulls of required columns that an outer null hides, as Parquet's writer takes them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.masked_nulls import without_masked_nulls
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct

LONG = Scalar("long")
INNER = Struct(
    (Field("src", STRING, required=True), Field("n", Scalar("decimal", 5, 2), required=True), Field("note", STRING))
)
COLUMNS = Struct(
    (
        Field("id", LONG, required=True),
        Field("s", INNER),
        Field("deep", Struct((Field("in", INNER, required=True), Field("x", LONG)))),
        Field("l", List(INNER)),
        Field("m", Map(STRING, INNER)),
        Field("ints", Struct((Field("l", List(LONG, element_required=True), required=True),))),
    )
)
READ = {"src": "a", "n": Decimal("1.50"), "note": None}


def test_rows_that_are_read_back_can_be_written_again() -> None:
    """Parquet's reader has nulls where an outer null hides a required value, and parts of a table have an offset."""
    schema = arrow_schema(COLUMNS)
    rows = [
        {"id": 1, "s": READ, "deep": {"in": READ}, "l": [READ], "m": [("k", READ)], "ints": {"l": [1]}},
        {"id": 2},
        {"id": 3, "l": [None, READ], "m": [("k", None), ("j", READ)]},
    ]
    target = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), target)
    read = pq.read_table(pa.BufferReader(target.getvalue()), schema=schema)
    for part in (read, read.slice(1), read.slice(1, 1)):
        again = pa.BufferOutputStream()
        pq.write_table(without_masked_nulls(part), again)
        assert pq.read_table(pa.BufferReader(again.getvalue())).to_pylist() == part.to_pylist()


def test_a_null_that_nothing_hides_stays_for_the_writer_to_refuse() -> None:
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    array = pa.StructArray.from_arrays([pa.array([1, None])], fields=list(inner))
    table = without_masked_nulls(pa.table({"s": array}))
    with pytest.raises(pa.ArrowInvalid, match="'x' is declared non-nullable but contains nulls"):
        pq.write_table(table, pa.BufferOutputStream())


@pytest.mark.parametrize(
    ("type_", "holds"),
    [
        (LONG, False),
        (Struct((Field("a", Scalar("fixed", length=2), required=True),)), False),
        (Struct((Field("a", INNER, required=True),)), False),
        (Struct((Field("a", INNER),)), True),
        (Struct((Field("a", List(INNER, element_required=True), required=True),)), False),
        (Struct((Field("a", List(INNER), required=True),)), True),
        (Struct((Field("a", Map(STRING, INNER, value_required=True)),)), True),
    ],
)
def test_a_table_without_such_columns_stays_as_it_is(type_: Any, holds: bool) -> None:
    table = arrow_schema(Struct((Field("c", type_, required=True),))).empty_table()
    assert (without_masked_nulls(table) is table) is not holds
