"""A task with several tables, and with a route to them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline import task
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.convert.infer import records
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.results import NewColumns, TaskResult, combine
from frazil.pipeline.route import Route
from frazil.pipeline.rows import Rows
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import ANY_COLUMNS, Bounds, Routing, TableSpec, TaskSpec
from frazil.pipeline.types import STRING, Field, Scalar, Struct
from tests.pipeline.test_task import Memory, batch
from tests.pipeline.transforms.chains import chain

LONGS = DecodeSpec(Struct((Field("n", Scalar("long")),)), evolve=False)
TEXTS = DecodeSpec(Struct((Field("n", STRING), Field("k", STRING))), evolve=False)
BY_KIND = Route(("k",), (("db.a", "a|both"), ("db.b", "b|both")))
BY_NAME = Route(("k",), dynamic=True)


def table(name: str, writer: Memory, decode: DecodeSpec = LONGS, floor: Offsets | None = None) -> TableSpec:
    return TableSpec(name, decode, writer, Bounds(floor or {}))


def rows(*values: bytes | None, start: int = 0) -> Rows:
    (made,) = batch([(value, "t", 0, offset) for offset, value in enumerate(values, start)])
    return made


def test_without_a_route_every_table_has_every_record() -> None:
    a, b = Memory(), Memory()
    result = run([rows(b'{"n":1}', b'{"n":"x"}', None)], TaskSpec((table("db.a", a), table("db.b", b, TEXTS))))
    assert (a.values(), b.values()) == ([1], ["1", "x"])
    assert (result.tables["db.a"].read, len(result.tables["db.a"].dead)) == (3, 1)
    assert (result.tables["db.b"].read, len(result.tables["db.b"].dead)) == (3, 0)
    assert result.tables["db.b"].skipped == {"tombstone": 1}
    assert result.rest == TaskResult().rest


def test_an_empty_object_is_a_row_of_nulls() -> None:
    a = Memory()
    result = run([rows(b"{}")], TaskSpec((table("db.a", a),)))
    assert a.tables[0].to_pylist() == [{"n": None}]
    assert result.tables["db.a"].stored == {"t": 1}


def test_each_table_has_bounds_of_its_own() -> None:
    a, b = Memory(), Memory()
    spec = TaskSpec((table("db.a", a, floor={("t", 0): 2}), table("db.b", b)))
    result = run([rows(*(b'{"n":%d}' % n for n in range(4)))], spec)
    assert (a.values(), b.values()) == ([2, 3], [0, 1, 2, 3])
    assert [result.tables[name].read for name in ("db.a", "db.b")] == [2, 4]


def test_records_go_where_the_route_leads() -> None:
    a, b = Memory(), Memory()
    routing = Routing(BY_KIND, Bounds())
    values = [b'{"n":1,"k":"a"}', b'{"n":2,"k":"b"}', b'{"n":3,"k":"both"}', b'{"n":4}', None, b'{"n":"x","k":"both"}']
    spec = TaskSpec((table("db.a", a), table("db.b", b, TEXTS)), routing=routing)
    result = run([rows(*values), rows(b'{"n":5,"k":"c"}', b"[", start=6)], spec)
    assert (a.values(), b.values()) == ([1, 3], ["2", "3", "x"])
    assert result.tables["db.a"].stored == {"t": 2}
    assert [letter.coordinates for letter in result.tables["db.a"].dead] == [("t", 0, 5)]
    assert result.rest.read == 4
    assert result.rest.skipped == {"unrouted": 2, "tombstone": 1}
    assert [letter.coordinates for letter in result.rest.dead] == [("t", 0, 7)]
    assert result.tables["db.b"].next_offsets == result.rest.next_offsets == {("t", 0): 8}


def test_without_bounds_for_them_records_of_no_table_are_not_booked() -> None:
    a = Memory()
    result = run([rows(b'{"n":1,"k":"a"}', b"[", None)], TaskSpec((table("db.a", a),), routing=Routing(BY_KIND, None)))
    assert (a.values(), result.rest) == ([1], TaskResult().rest)


def test_tables_that_are_not_known_are_reported_with_the_columns_they_need() -> None:
    routing = Routing(BY_NAME, Bounds(), known=frozenset({"db.busy"}), discover=ANY_COLUMNS)
    values = [b'{"k":"db.new","x":1}', b'{"k":"db.busy"}', b'{"k":"db.new","y":{"z":true},"x":1.5}', b'{"k":"DB.E"}']
    result = run([rows(*values)], TaskSpec((), routing=routing))
    assert {name: {path: str(t) for path, t in c.fields.items()} for name, c in result.missing.items()} == {
        "db.new": {("k",): "string", ("x",): "double", ("y",): "struct<z: boolean>"},
        "db.e": {("k",): "string"},
    }
    assert list(result.missing["db.new"].fields) == [("k",), ("x",), ("y",)]
    assert records(result.missing["db.new"].seen) == {("k",): 2, ("x",): 2, ("y",): 1, ("y", "z"): 1}
    without = run([rows(*values)], TaskSpec((), routing=replace(routing, discover=None)))
    assert without.missing == {"db.new": NewColumns(), "db.e": NewColumns()}


def test_a_table_that_cannot_have_records_refuses_them() -> None:
    spec = TableSpec("db.a", ANY_COLUMNS, None, refusal="table db.a does not exist")
    result = run([rows(b'{"n":1}', None, b"[")], TaskSpec((spec,))).tables["db.a"]
    assert (result.read, result.skipped, result.stored.total()) == (3, {"tombstone": 1}, 0)
    assert {letter.reason for letter in result.dead} == {"table db.a does not exist"}


def test_the_columns_of_a_table_that_is_to_be_made() -> None:
    result = run([rows(b'{"n":1}', b"{}", b"[", None)], TaskSpec((TableSpec("db.a", ANY_COLUMNS, None),))).tables[
        "db.a"
    ]
    assert (result.read, result.stored.total(), len(result.dead)) == (4, 2, 1)
    assert {path: str(type_) for path, type_ in result.unknown.items()} == {("n",): "long"}


def test_transformations_are_before_the_route() -> None:
    """A router gives the topic that names the table; positions stay those that were read."""
    transforms = chain(
        ("RegexRouter", {"regex": "t", "replacement": "a"}),
        ("Cast$Value", {"spec": "n:int64"}),
    )
    a = Memory()
    routing = Routing(Route(topic_pattern="db.{topic}"), Bounds())
    spec = TaskSpec((table("db.a", a),), transforms=transforms, routing=routing)
    result = run([rows(b'{"n":"7"}', b'{"n":"x"}', None)], spec)
    assert (a.values(), result.tables["db.a"].stored) == ([7], {"t": 1})
    assert result.tables["db.a"].skipped == {"tombstone": 1}
    assert result.tables["db.a"].next_offsets == {("t", 0): 3}
    (letter,) = result.rest.dead
    assert letter.origin == ("TRANSFORMATION", "org.apache.kafka.connect.transforms.Cast$Value")


def test_the_largest_table_is_encoded_when_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "MAX_WAITING_BYTES", 100)
    encoded: list[str] = []

    class Waiting(Memory):
        def __init__(self, name: str, size: int) -> None:
            super().__init__()
            self.name, self.size = name, size

        def add(self, table: pa.Table) -> None:
            self.waiting_bytes += self.size

        def encode_largest(self) -> None:
            encoded.append(self.name)
            self.waiting_bytes = 0

    spec = TaskSpec(tuple(table(f"db.{name}", Waiting(name, size)) for name, size in (("small", 20), ("big", 40))))
    run([rows(b'{"n":1}')] * 3, spec)
    assert encoded == ["big"]


@given(
    kinds=st.lists(st.sampled_from(["a", "b", "both", "none", "bad", "null"]), max_size=30),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    floors=st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)),
)
def test_every_record_is_booked_once_for_each_of_its_tables(
    kinds: list[str], sizes: list[int], floors: tuple[int, int, int]
) -> None:
    values = [
        None if kind == "null" else b"[" if kind == "bad" else b'{"n":%d,"k":"%s"}' % (n, kind.encode())
        for n, kind in enumerate(kinds)
    ]
    a, b, rest = floors
    writers = Memory(), Memory()
    spec = TaskSpec(
        (table("db.a", writers[0], floor={("t", 0): a}), table("db.b", writers[1], floor={("t", 0): b})),
        routing=Routing(BY_KIND, Bounds({("t", 0): rest}), known=frozenset({"db.a", "db.b"})),
    )
    parts, at = [], 0
    for size in [*sizes, len(values)]:
        parts += [rows(*values[at : at + size], start=at)] if values[at : at + size] else []
        at += size
    result = combine([run([part], spec) for part in parts])
    assert sorted(n for w in [writers[0]] for n in w.values()) == [
        n for n, kind in enumerate(kinds) if kind in ("a", "both") and n >= a
    ]
    assert writers[1].values() == [n for n, kind in enumerate(kinds) if kind in ("b", "both") and n >= b]
    left = Counter(kind for kind in kinds[rest:] if kind in ("none", "bad", "null"))
    assert result.rest.read == left.total()
    assert result.rest.skipped == Counter({"unrouted": left["none"], "tombstone": left["null"]})
    assert len(result.rest.dead) == left["bad"]
