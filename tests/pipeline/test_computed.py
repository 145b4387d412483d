"""Rows that were computed from records: their chunks, and what they are for a table that takes them one by one."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa

from frazil.pipeline.computed import Computed, Places
from frazil.pipeline.types import Field, List, Map, Scalar, Struct
from frazil.pipeline.values import Columns

SHAPE = Struct(
    (
        Field("n", Scalar("long")),
        Field("f", Scalar("double")),
        Field("price", Scalar("decimal", precision=5, scale=2)),
        Field("raw", Scalar("binary")),
        Field("by", Map(Scalar("long"), List(Scalar("float")))),
        Field("in", Struct((Field("f", Scalar("float")), Field("s", Scalar("string"))))),
    )
)
ROW = {
    "n": 1,
    "f": float("-inf"),
    "price": Decimal("1.50"),
    "raw": b"\xff",
    "by": [(7, [float("nan"), 1.5, None])],
    "in": {"f": float("inf"), "s": "x"},
}
NULLS = dict.fromkeys(ROW) | {"n": 2}
TYPE = pa.struct(
    [
        ("n", pa.int64()),
        ("f", pa.float64()),
        ("price", pa.decimal128(5, 2)),
        ("raw", pa.binary()),
        ("by", pa.map_(pa.int64(), pa.list_(pa.float32()))),
        ("in", pa.struct([("f", pa.float32()), ("s", pa.string())])),
    ]
)


def test_chunks_have_one_partition_each_in_the_order_of_offsets() -> None:
    struct = pa.array([{"n": number} for number in range(5)], pa.struct([("n", pa.int64())]))
    places = Places(
        *(np.array(column) for column in ([1, 0, 1, 0, 0], [0, 2, 0, 1, 2], [9, 5, 8, 7, 5], [1, 2, 3, 4, 5]))
    )
    chunks = list(Computed(struct, Struct((Field("n", Scalar("long")),))).chunks(places, ["a", "b"]))
    shown = [(rows.topic, rows.partition, rows.offsets.tolist(), rows.stamps.tolist(), rows.values) for rows in chunks]
    assert shown == [
        ("a", 1, [7], [4], [b"3"]),
        ("a", 2, [5, 5], [2, 5], [b"1", b"4"]),
        ("b", 0, [8, 9], [3, 1], [b"2", b"0"]),
    ]


def test_values_one_by_one_are_json_with_every_digit() -> None:
    computed = Computed(pa.array([NULLS, ROW], TYPE), SHAPE)
    zeros = np.zeros(2, np.int64)
    (rows,) = computed.chunks(Places(zeros, zeros, np.array([4, 3]), zeros), ["t"])
    (columns,) = computed.prepared(rows).values.columns
    assert isinstance(columns, Columns)
    assert columns.struct.field("n").to_pylist() == [1, 2]
    read = computed.prepared(rows.take([0, 1])).values.columns[0].one_by_one().values
    assert [read.position(index) for index in range(2)] == [0, 1]
    assert json.loads(read.values[0] or b"", parse_float=str) == {
        "n": 1,
        "f": "-Infinity",
        "price": "1.50",
        "raw": "/w==",
        "by": {"7": ["NaN", "1.5", None]},
        "in": {"f": "Infinity", "s": "x"},
    }
    assert json.loads(read.values[1] or b"") == NULLS
    assert read.shapes == [SHAPE, SHAPE]
