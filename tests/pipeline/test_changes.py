from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.changes import (
    DELETED,
    OFFSET,
    PARTITION,
    TIMESTAMP,
    TOPIC,
    ChangeDecoder,
    ChangeSpec,
    key_error,
    last_changes,
    last_in_partition,
    only_keys,
    with_required_keys,
)
from frazil.pipeline.convert.decode import Decoded, DecodeSpec
from frazil.pipeline.types import STRING, Field, List, Scalar, Struct

LONG = Scalar("long")
ROW = Struct(
    (
        Field("id", LONG),
        Field("name", STRING, required=True),
        Field("inner", Struct((Field("key", STRING), Field("other", Scalar("int"), required=True)))),
        Field("weight", Scalar("double")),
        Field("tags", List(STRING)),
    )
)


def decode(*records: object, keys: Any = (("id",),), operation: Any = ("op",), evolve: bool = False) -> Decoded:
    decoder = ChangeDecoder(DecodeSpec(ROW, evolve), ChangeSpec(keys, operation))
    return decoder.decode([r if isinstance(r, bytes) or r is None else json.dumps(r).encode() for r in records])


def shown(decoded: Decoded) -> dict[int, tuple[Any, bool]]:
    rows = decoded.table.to_pylist()
    return {place: (row["id"], row[DELETED]) for place, row in zip(decoded.positions, rows, strict=True)}


@pytest.mark.parametrize(
    ("operation", "deleted"),
    [("d", True), ("delete", True), (" D ", True), ("DROP", True)]
    + [(text, False) for text in ("u", "update", " U ", "", "c", "r", "I", None, 1, True, {"d": 1}, ["d"])],
)
def test_the_first_letter_of_the_operation(operation: object, deleted: bool) -> None:
    assert shown(decode({"id": 1, "name": "x", "op": operation})) == {0: (1, deleted)}


def test_a_record_without_operation_is_an_insert() -> None:
    assert shown(decode({"id": 1, "name": "x"}, operation=("_cdc", "op"))) == {0: (1, False)}
    assert shown(decode({"id": 1, "name": "x", "_cdc": None}, operation=("_cdc", "op"))) == {0: (1, False)}


def test_the_operation_is_found_in_objects() -> None:
    assert shown(decode({"id": 1, "_cdc": {"op": "D", "ts": 5}}, operation=("_cdc", "op"))) == {0: (1, True)}


def test_what_should_hold_the_operation_is_no_object() -> None:
    decoded = decode({"id": 1, "name": "x", "_cdc": [1]}, {"id": 2, "name": "y"}, operation=("_cdc", "op"))
    assert shown(decoded) == {1: (2, False)}
    [(place, error)] = decoded.rejected
    assert (place, error.path, error.reason) == (
        0,
        "_cdc",
        "Expected a map type, got array: the field with the operation is _cdc.op",
    )


def test_a_delete_needs_its_key_only() -> None:
    decoded = decode({"op": "d", "id": "7", "name": None, "weight": "no number", "unknown": 1}, evolve=True)
    assert shown(decoded) == {0: (7, True)}
    assert decoded.unknown == {}


@pytest.mark.parametrize("operation", ["d", "u"])
@pytest.mark.parametrize("record", [{"name": "x"}, {"id": None, "name": "x"}])
def test_a_record_without_its_key_cannot_be_stored(operation: str, record: dict[str, object]) -> None:
    decoded = decode({"id": 1, "name": "a"}, {**record, "op": operation}, {"id": 3, "name": "c"})
    assert set(shown(decoded)) == {0, 2}
    [(place, error)] = decoded.rejected
    assert (place, error.path) == (1, "id")
    assert "the required value is" in error.reason


def test_places_of_rows_that_took_other_ways() -> None:
    decoded = decode(
        {"id": "1", "name": "strict"},
        None,
        {"id": 2, "name": "plain"},
        b"{",
        {"id": 3, "op": "d"},
        {"id": 4, "name": 5},
        {"id": 5, "name": "plain"},
        b"null",
        {"id": "6", "op": "d"},
    )
    assert shown(decoded) == {
        0: (1, False), 2: (2, False), 4: (3, True), 5: (4, False), 6: (5, False), 8: (6, True)
    }  # fmt: skip
    assert sorted(decoded.skipped) == [1, 7]
    assert [place for place, _ in decoded.rejected] == [3]


def test_without_an_operation_every_record_replaces() -> None:
    assert shown(decode({"id": 1, "name": "x", "op": "d"}, operation=None)) == {0: (1, False)}


def test_nested_key_columns() -> None:
    keys = (("inner", "key"), ("id",))
    decoded = decode(
        {"id": 1, "name": "x", "inner": {"key": "k", "other": 1}},
        {"id": 2, "op": "d", "inner": {"key": "l"}},
        {"id": 3, "name": "x", "inner": {"other": 1}},
        {"id": 4, "name": "x"},
        keys=keys,
    )
    assert shown(decoded) == {0: (1, False), 1: (2, True)}
    assert [(place, error.path) for place, error in decoded.rejected] == [(2, "inner.key"), (3, "inner")]


def test_key_columns_alone() -> None:
    part = only_keys(with_required_keys(ROW, [("inner", "key")]), [("inner", "key")])
    key = Field("key", STRING, required=True, firm=True)
    assert part == Struct((Field("inner", Struct((key,)), required=True, firm=True),))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (("id",), ""),
        (("inner", "key"), ""),
        (("ID",), "there is no such column"),
        (("id", "x"), "there is no such column"),
        (("inner",), "its type is struct<key: string, other: int>, and rows are found by single values only"),
        (("tags",), "its type is list<string>, and rows are found by single values only"),
        (("weight",), "its type is double, whose values are not exact"),
    ],
)
def test_which_columns_can_be_keys(path: tuple[str, ...], reason: str) -> None:
    assert key_error(ROW, path) == reason


def places(rows: list[tuple[str, int, int, int]]) -> pa.Table:
    topic, partition, offset, timestamp = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            TOPIC: pa.array(topic, pa.string()),
            PARTITION: pa.array(partition, pa.int32()),
            OFFSET: pa.array(offset, pa.int64()),
            TIMESTAMP: pa.array(timestamp, pa.int64()),
        }
    )


def test_the_highest_offset_of_a_partition_wins_whatever_its_timestamp() -> None:
    rows = places([("t", 0, 5, 900), ("t", 0, 7, 100), ("t", 0, 6, 999)])
    assert last_changes(np.array([1, 1, 1]), rows).tolist() == [1]


def test_across_partitions_the_later_timestamp_wins() -> None:
    # Offset 6 of partition 0 is later than all, but not the last of its partition.
    rows = places([("t", 0, 6, 999), ("t", 0, 7, 100), ("t", 1, 3, 200), ("t", 2, 90, 150)])
    assert last_changes(np.array([1, 1, 1, 1]), rows).tolist() == [2]


def test_of_equal_timestamps_the_later_topic_and_partition_wins() -> None:
    rows = places([("t", 1, 1, 5), ("t", 0, 9, 5), ("s", 3, 9, 5)])
    assert last_changes(np.array([1, 1, 1]), rows).tolist() == [0]


change = st.tuples(st.sampled_from(["s", "t"]), st.integers(0, 2), st.integers(0, 9), st.integers(0, 3))


@given(st.lists(st.tuples(st.integers(0, 3), change), unique_by=lambda one: one[1][:3], max_size=25), st.integers(1, 4))
def test_tasks_sort_out_beforehand_without_a_difference(rows: list[tuple[int, Any]], tasks: int) -> None:
    """Whatever rows are in whichever task: each keeps the last of each partition, then all are compared."""
    keys = np.array([key for key, _ in rows], np.int64)
    expected: dict[int, Any] = {}
    newest: dict[tuple[int, str, int], Any] = {}
    for key, (topic, partition, offset, timestamp) in rows:
        known = newest.get((key, topic, partition))
        if known is None or offset > known[2]:
            newest[key, topic, partition] = (topic, partition, offset, timestamp)
    for (key, _, _), (topic, partition, offset, timestamp) in newest.items():
        rank = (timestamp, topic, partition, offset)
        expected[key] = max(rank, expected.get(key, rank))
    kept = []
    for task in range(tasks):
        mine = np.arange(task, len(rows), tasks)
        kept += mine[last_in_partition(keys[mine], places([rows[i][1] for i in mine]))].tolist()
    last = last_changes(keys[kept], places([rows[i][1] for i in kept]))
    found = {int(keys[kept[i]]): rows[kept[i]][1] for i in last}
    assert {key: (c[3], c[0], c[1], c[2]) for key, c in found.items()} == expected
