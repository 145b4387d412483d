"""Values that Debezium leaves out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from frazil.pipeline.changes import DELETED
from frazil.pipeline.convert.decode import Decoded
from frazil.pipeline.gaps import PLACEHOLDER, Before, GapFiller, WantedRows, all_wanted

GAP = PLACEHOLDER
SCHEMA = pa.schema(
    [("id", pa.int64()), ("name", pa.string()), ("bio", pa.string()), ("n", pa.int32()), (DELETED, pa.bool_())]
)


def change(id_: int, name: str | None = None, bio: str | None = None, *, deleted: bool = False) -> dict[str, Any]:
    return {"id": id_, "name": name, "bio": bio, "n": 1, DELETED: deleted}


def changes(*rows: dict[str, Any], positions: list[int] | None = None) -> Decoded:
    table = pa.Table.from_pylist(list(rows), schema=SCHEMA)
    return Decoded(table, positions=positions or list(range(len(rows))))


def keys(*ids: int) -> pa.Table:
    return pa.table({"0": pa.array(ids, pa.int64())})


def before(ids: list[int], rows: dict[int, tuple[str | None, str | None]], *columns: str) -> Before:
    wanted = WantedRows(keys(*ids), columns or ("bio", "name"))
    values = [dict(zip(("name", "bio"), pair, strict=True)) | {"0": id_} for id_, pair in rows.items()]
    schema = pa.schema([("0", pa.int64()), *((name, pa.string()) for name in wanted.columns)])
    return Before(wanted, pa.Table.from_pylist(values, schema=schema))


def filled(known: Before, *batches: Decoded) -> tuple[dict[int, list[tuple[str | None, str | None]]], list[int]]:
    filler = GapFiller((("id",),), known)
    rows: dict[int, list[tuple[str | None, str | None]]] = {}
    refused: list[int] = []
    for each in batches:
        result = filler.fill(each, DELETED)
        assert result.table.schema == SCHEMA
        assert len(result.positions) == result.table.num_rows
        in_order = sorted(zip(result.positions, result.table.to_pylist(), strict=True), key=lambda pair: pair[0])
        for _, row in in_order:
            rows.setdefault(row["id"], []).append((row["name"], row["bio"]))
        refused += [place for place, _ in result.rejected]
    return rows, refused


def test_what_rows_with_gaps_want() -> None:
    filler = GapFiller((("id",),), None)
    same = changes(change(1, "a"), change(2, GAP, "b"), change(3, "c", GAP), change(4, deleted=True))
    assert filler.fill(same, DELETED) is same
    filler.fill(changes(change(2, GAP)), DELETED)
    filler.fill(changes(change(5, "x")), DELETED)
    wanted = all_wanted(filler.wanted)
    assert (sorted(wanted.keys.column("0").to_pylist()), wanted.columns) == ([2, 2, 3], ("bio", "name"))


def test_values_come_from_the_table() -> None:
    known = before([1, 2, 3], {1: ("one", "bio 1"), 2: ("two", None)})
    rows, refused = filled(known, changes(change(1, "new", GAP), change(2, GAP, GAP), change(3, "x", GAP), change(9)))
    assert rows == {1: [("new", "bio 1")], 2: [("two", None)], 9: [(None, None)]}
    assert refused == [2]


def test_an_earlier_change_comes_before_the_table() -> None:
    known = before([1, 2, 3], {1: ("one", "bio 1"), 2: ("two", "bio 2")})
    first = changes(change(1, "a", "from the batch"), change(2, deleted=True), change(3, "new", "bio 3"))
    second = changes(change(1, "b", GAP), change(2, "x", GAP), change(3, GAP, GAP), change(1, GAP, "c"))
    rows, refused = filled(known, first, second)
    assert rows == {
        1: [("a", "from the batch"), ("b", "from the batch"), ("b", "c")],
        2: [(None, None)],
        3: [("new", "bio 3"), ("new", "bio 3")],
    }
    assert refused == [1]


def test_the_order_is_that_of_the_records() -> None:
    known = before([1], {1: ("one", "old")})
    mixed = changes(change(1, "b", GAP), change(1, "a", "new"), positions=[7, 3])
    assert filled(known, mixed) == ({1: [("a", "new"), ("b", "new")]}, [])


def test_a_batch_without_one_of_the_keys_is_as_it_was() -> None:
    same = changes(change(8, "x"))
    assert GapFiller((("id",),), before([1], {})).fill(same, DELETED) is same
