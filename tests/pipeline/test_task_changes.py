"""A task for a table whose rows change: transforms and routes keep the places of the records together with them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from frazil.pipeline.changes import DELETED, OFFSET, PARTITION, PLACE, TOPIC, ChangeSpec
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.gaps import PLACEHOLDER, Before, all_wanted
from frazil.pipeline.route import Route
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import Bounds, Routing, TableSpec, TaskSpec
from frazil.pipeline.types import STRING, Field, Scalar, Struct
from tests.pipeline.test_task import Memory, batch
from tests.pipeline.transforms.chains import ICEBERG, chain

ROW = DecodeSpec(Struct((Field("n", Scalar("long")),)), evolve=False)


class Telling(Memory):
    """A writer that tells of changes; the table that it got stands for what it tells."""

    def open(self) -> Telling:
        return self

    def changes(self) -> pa.Table | None:
        return pa.concat_tables(self.tables) if self.tables else None


def spec(writer: Telling, operation: tuple[str, ...], **more: Any) -> TaskSpec:
    table = TableSpec("db.t", ROW, writer, Bounds(), changes=ChangeSpec((("n",),), operation))
    return TaskSpec((table,), **more)


def places(writer: Telling) -> dict[tuple[str, int, int], tuple[int, bool]]:
    rows = [row for table in writer.tables for row in table.to_pylist()]
    return {(row[TOPIC], row[PARTITION], row[OFFSET]): (row["n"], row[DELETED]) for row in rows}


def test_places_of_changes() -> None:
    writer = Telling()
    rows = [(b'{"n":"1"}', "t", 0, 5), (b'{"n":2,"op":"d"}', "t", 1, 6), (b"[", "t", 1, 7), (b'{"n":3}', "s", 0, 1)]
    result = run(batch(rows), spec(writer, ("op",)))
    assert places(writer) == {("t", 0, 5): (1, False), ("t", 1, 6): (2, True), ("s", 0, 1): (3, False)}
    of_table = result.tables["db.t"]
    assert (of_table.read, of_table.stored, [x.coordinates for x in of_table.dead]) == (
        4, {"t": 2, "s": 1}, [("t", 1, 7)]
    )  # fmt: skip
    [told] = of_table.changes
    assert set(told.column_names) == {"n", DELETED, *PLACE}


def test_values_that_debezium_left_out_are_wanted_first_and_filled_then() -> None:
    row = DecodeSpec(Struct((Field("n", Scalar("long")), Field("bio", STRING))), evolve=False)
    values = [b'{"n":1,"bio":"%s","op":"u"}' % PLACEHOLDER.encode(), b'{"n":2,"bio":"%s"}' % PLACEHOLDER.encode()]
    rows = batch([(value, "t", 0, 5 + number) for number, value in enumerate(values)])

    def table(writer: Telling, before: Before | None = None) -> TaskSpec:
        changes = ChangeSpec((("n",),), ("op",))
        return TaskSpec((TableSpec("db.t", row, writer, Bounds(), changes=changes, before=before),))

    first = run(rows, table(Telling())).tables["db.t"]
    wanted = all_wanted(first.wanted)
    assert (sorted(wanted.keys.column("0").to_pylist()), wanted.columns) == ([1, 2], ("bio",))
    assert not first.files
    writer = Telling()
    old = pa.table({"0": pa.array([1], pa.int64()), "bio": ["long"]})
    second = run(rows, table(writer, Before(wanted, old))).tables["db.t"]
    assert [(r["n"], r["bio"], r[OFFSET]) for each in writer.tables for r in each.to_pylist()] == [(1, "long", 5)]
    assert [(letter.coordinates, letter.path) for letter in second.dead] == [(("t", 0, 6), "bio")]
    assert (second.read, second.stored, second.wanted) == (2, {"t": 1}, [])


def test_places_behind_transforms_and_a_route() -> None:
    """The transform drops what has no `after`, the route leaves one out."""
    event = b'{"op":"%s","before":%s,"after":%s,"source":{"db":"d","table":"t"}}'
    values = [
        event % (b"c", b"null", b'{"n":1,"k":"x"}'),
        event % (b"t", b"null", b"null"),
        event % (b"u", b"null", b'{"n":2,"k":"other"}'),
        None,
        event % (b"d", b'{"n":3,"k":"x"}', b"null"),
    ]
    writer = Telling()
    transforms = chain((ICEBERG + "DebeziumTransform", {}))
    routing = Routing(Route(("k",), (("db.t", "x"),)), Bounds())
    rows = [(value, "t", 0, 10 + number) for number, value in enumerate(values)]
    result = run(batch(rows), spec(writer, ("_cdc", "op"), transforms=transforms, routing=routing))
    assert places(writer) == {("t", 0, 10): (1, False), ("t", 0, 14): (3, True)}
    assert result.rest.skipped == {"transform": 1, "unrouted": 1, "tombstone": 1}
