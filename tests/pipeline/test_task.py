from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.clients.kafka.ranges import Range
from frazil.pipeline import bookings, task
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.results import TableResult
from frazil.pipeline.route import Route
from frazil.pipeline.rows import Rows
from frazil.pipeline.task_spec import Bounds, Routing, TableSpec, TaskSpec, Writer
from frazil.pipeline.types import STRING, Field, Scalar, Struct
from tests.pipeline.kafka_rows import Row, chunk, chunks
from tests.pipeline.transforms.chains import chain as transform_chain

COLUMNS = Struct((Field("n", Scalar("long")), Field("s", STRING)))
HEADERS = (("h", b"\xff"), ("h", None))
START_MS = round(datetime(2026, 1, 31, 10, 30, tzinfo=UTC).timestamp() * 1000)


@dataclass
class Memory:
    """A writer that keeps what it gets; the number of rows of a table stands for a file."""

    tables: list[pa.Table] = field(default_factory=list)
    closed: bool = False
    waiting_bytes: int = 0

    def open(self) -> Memory:
        return self

    def add(self, table: pa.Table) -> None:
        self.tables.append(table)

    def encode_largest(self) -> None:
        self.waiting_bytes = 0

    def rehearse(self) -> None:
        self.waiting_bytes = 0

    def close(self) -> list[Any]:
        self.closed = True
        return [table.num_rows for table in self.tables]

    def values(self) -> list[Any]:
        return sorted(n for table in self.tables for n in table.column("n").to_pylist())


@dataclass(frozen=True)
class Counting:
    """A writer that travels to a task."""

    def open(self) -> Memory:
        return Memory()


Record = tuple[bytes | None, str, int, int]


def batch(records: Sequence[Record]) -> list[Rows]:
    """Chunks of records, given as value, topic, partition and offset."""
    return chunks(
        Row(offset, value, START_MS + offset, b"k%d" % offset, HEADERS, partition, topic)
        for value, topic, partition, offset in records
    )


def spec(floor: Offsets | None = None, ceiling: Offsets | None = None, *, evolve: bool = False) -> TaskSpec:
    bounds = Bounds(floor or {}, ceiling or {})
    return TaskSpec((TableSpec("db.t", DecodeSpec(COLUMNS, evolve), Counting(), bounds),))


def run(batches: Sequence[list[Rows]], of: TaskSpec, writer: Writer) -> TableResult:
    """The result of the only table, whose rows go to `writer`."""
    (table,) = of.tables
    result = task.run(chain.from_iterable(batches), replace(of, tables=(replace(table, writer=writer),)))
    assert (result.rest, result.missing) == (TableResult(), {})
    return result.tables["db.t"]


KINDS: dict[str, str] = {
    "stored": '{"n":%d}',
    "dead": '{"n":"x%d"}',
    "care": '{"n":"%d"}',
    "broken": '{"n":%d',
    "skip": "null",
}


@given(
    rows=st.lists(
        st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(["a", "b"]), st.integers(0, 2)), max_size=40
    ),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    floor=st.dictionaries(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2)), st.integers(0, 9)),
    ceiling=st.dictionaries(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2)), st.integers(0, 12)),
)
def test_every_row_is_stored_or_dead_or_skipped(
    rows: list[tuple[str, str, int]], sizes: list[int], floor: Offsets, ceiling: Offsets
) -> None:
    heads: Counter[tuple[str, int]] = Counter()
    numbered: list[Record] = []
    expected: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for serial, (kind, topic, partition) in enumerate(rows):
        offset = heads[topic, partition]
        heads[topic, partition] += 1
        text = KINDS[kind]
        numbered.append(((text % serial if "%" in text else text).encode(), topic, partition, offset))
        if floor.get((topic, partition), 0) <= offset < ceiling.get((topic, partition), 1000):
            expected[kind].append((serial, topic, partition, offset))
    batches, at = [], 0
    for size in [*sizes, len(numbered)]:
        batches.append(batch(numbered[at : at + size]))
        at += size
    writer = Memory()
    result = run(batches, spec(floor, ceiling), writer)

    stored, dead = expected["stored"] + expected["care"], expected["dead"] + expected["broken"]
    everything = [row for kind in expected.values() for row in kind]
    assert writer.values() == sorted(serial for serial, *_ in stored)
    assert result.read == len(everything) == result.stored.total() + len(result.dead) + result.skipped.total()
    assert result.stored == Counter(topic for _, topic, _, _ in stored)
    assert sorted(letter.coordinates for letter in result.dead) == sorted((t, p, o) for _, t, p, o in dead)
    assert result.skipped.total() == result.skipped["tombstone"] == len(expected["skip"])
    assert sum(result.files) == len(stored)
    ends: Offsets = {}
    for _, topic, partition, offset in everything:
        ends[topic, partition] = max(offset + 1, ends.get((topic, partition), 0))
    assert result.next_offsets == ends
    assert result.last_timestamps == {key: START_MS + end - 1 for key, end in ends.items()}
    assert not result.overflow


def test_a_dead_letter_is_the_record_as_it_was() -> None:
    value = b'{"n":{"x":1}}\xff'
    (letter,) = run([[chunk([Row(5, value, 1684408953123, b"k5", HEADERS, 1)])]], spec(), Memory()).dead
    assert letter == DeadLetter(
        topic="t",
        partition=1,
        offset=5,
        timestamp=1684408953123,
        key=b"k5",
        value=value,
        headers=HEADERS,
        path="",
        reason="the value is not UTF-8 (byte 13)",
        origin=("VALUE_CONVERTER", "org.apache.kafka.connect.json.JsonConverter"),
    )


def test_a_dead_letter_of_a_record_whose_headers_were_not_read() -> None:
    (letter,) = run([[chunk([Row(5, b"{", headers=HEADERS)], headers=False)]], spec(), Memory()).dead
    assert letter.headers == ()


def test_a_dead_letter_names_the_column() -> None:
    (letter,) = run([batch([(b'{"n":1.5}', "t", 0, 0)])], spec(), Memory()).dead
    assert str(letter) == ("topic t, partition 0, offset 0, column n: the number has a fraction for type long (1.5)")


def test_unknown_fields_of_all_batches_are_merged() -> None:
    first, second = batch([(b'{"n":1,"z":1}', "t", 0, 0)]), batch([(b'{"n":1,"z":2.5}', "t", 0, 1)])
    writer = Memory()
    result = run([first, second], spec(evolve=True), writer)
    assert (result.unknown, result.files, writer.tables) == ({("z",): Scalar("double")}, [], [])


def test_no_rows_make_no_files() -> None:
    writer = Memory()
    result = run(
        [batch([]), batch([(b"null", "t", 0, 0)]), batch([(b'{"n":1}', "t", 0, 1)])],
        spec(ceiling={("t", 0): 1}),
        writer,
    )
    assert (result.read, result.skipped, result.files, writer.tables) == (1, {"tombstone": 1}, [], [])


@pytest.mark.parametrize(("value", "count"), [(b"x" * 10_000, 20), (b"", 5_000)], ids=["large values", "empty values"])
def test_too_many_dead_letters_overflow(value: bytes, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The letters travel in the task's result: neither their bytes nor their number may grow without bound."""
    monkeypatch.setattr(bookings, "MAX_DEAD_BYTES", 100_000)
    good = batch([(b'{"n":1}', "t", 0, 0)])
    bad = [batch([(value, "t", 0, offset)] * (count // 10)) for offset in range(1, 11)]
    writer = Memory()
    result = run([good, *bad, good], spec(), writer)
    assert result.overflow
    assert len(result.dead) < count
    assert not writer.closed
    assert not result.files


def test_a_single_dead_letter_of_any_size_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of one record cannot be divided any more."""
    monkeypatch.setattr(bookings, "MAX_DEAD_BYTES", 100_000)
    result = run([batch([(b"x" * 200_000, "t", 0, 0)])], spec(), Memory())
    assert not result.overflow
    assert len(result.dead) == 1


class Slow(Memory):
    """A store that takes its time."""

    def add(self, table: pa.Table) -> None:
        time.sleep(0.02)
        super().add(table)

    def close(self) -> list[Any]:
        time.sleep(0.03)
        return super().close()


def test_the_time_for_storing_files_is_measured() -> None:
    result = run([batch([(b'{"n":1}', "t", 0, 0)]), batch([(b'{"n":2}', "t", 0, 1)])], spec(), Slow())
    assert result.write_s >= 0.07


def test_a_run_reads_what_a_table_lacks() -> None:
    """What all tables have is not read again, nor what lies behind the batch."""
    tables = (
        TableSpec("db.a", DecodeSpec(COLUMNS, False), Counting(), Bounds({("t", 0): 4, ("t", 1): 7}, {("t", 0): 9})),
        TableSpec("db.b", DecodeSpec(COLUMNS, False), Counting(), Bounds({("t", 0): 6}, {("t", 0): 8, ("t", 1): 7})),
    )
    assert TaskSpec(tables[:1]).ranges() == [Range("t", 0, 4, 9)]
    assert TaskSpec(tables).ranges() == [Range("t", 0, 4, 9), Range("t", 1, 0, 7)]
    rest = Routing(Route(("k",), dynamic=True), Bounds({("t", 0): 2}, {("t", 0): 9}))
    assert TaskSpec(tables[:1], routing=rest).ranges() == [Range("t", 0, 2, 9)]


def test_transformed_rows_are_booked_under_the_topic_that_was_read() -> None:
    """A router changes no position; a dead letter has what was read, and names the transformation."""
    transforms = transform_chain(
        ("RegexRouter", {"regex": ".*", "replacement": "routed"}),
        ("Cast$Value", {"spec": "n:int64"}),
        ("Filter", {"predicate": "p"}),
        predicates="p",
        predicates__p__type="org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
        predicates__p__name="none",
    )
    rows: list[Record] = [(b'{"n":"7"}', "a", 0, 42), (b'{"n":"x"}', "a", 0, 43), (None, "a", 0, 44)]
    writer = Memory()

    result = run([batch(rows)], replace(spec(), transforms=transforms), writer)

    assert writer.values() == [7]
    assert (result.read, result.skipped, result.stored) == (3, {"tombstone": 1}, Counter({"a": 1}))
    assert result.next_offsets == {("a", 0): 45}
    (letter,) = result.dead
    assert (letter.topic, letter.offset, letter.value, letter.key) == ("a", 43, b'{"n":"x"}', b"k43")
    assert letter.headers == (("h", b"\xff"), ("h", None))
    assert letter.origin == ("TRANSFORMATION", "org.apache.kafka.connect.transforms.Cast$Value")
    assert str(letter).endswith("offset 43: transformation t1: n: the text is not an integer of 64 bits")
