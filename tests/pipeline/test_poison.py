"""Records that make a step raise what nothing has foreseen: they alone are refused, whichever step it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import ServiceUnavailable, TerminalError
from frazil.pipeline import poison, task, tolerating
from frazil.pipeline.convert.decode import Decoded, DecodeSpec, RecordDecoder
from frazil.pipeline.prepare import prepare
from frazil.pipeline.results import TaskResult
from frazil.pipeline.route import Route, Router
from frazil.pipeline.rows import Rows
from frazil.pipeline.task_spec import ANY_COLUMNS, Bounds, Routing, TableSpec, TaskSpec
from frazil.pipeline.types import STRING, Field, Scalar, Struct
from tests.pipeline.kafka_rows import Row, chunks

COLUMNS = Struct((Field("n", Scalar("long")), Field("k", STRING), Field("bad", STRING)))
STEPS = ("transform", "route", "convert", "add", "close")


class PanicException(BaseException):
    """A panic of a library in Rust."""

    __module__ = "pyo3_runtime"


RAISED: tuple[type[BaseException], ...] = (KeyError, RecursionError, ZeroDivisionError, PanicException, AssertionError)


def raise_for(step: str, values: Sequence[Any]) -> None:
    """Raise what the first of the values has been given for a step."""
    for value in values:
        text = value if isinstance(value, bytes) else b"" if value is None else str(value).encode()
        if text.startswith(b'{"bad":"' + step.encode()) or text == step.encode():
            raise RAISED[len(text) % len(RAISED)](step)  # it depends on the digits of the offset


@dataclass
class Files:
    """A writer that raises for rows with `bad`, and notes what it stores."""

    stored: list[int]
    rows: list[pa.Table] = field(default_factory=list)
    waiting_bytes: int = 0

    def add(self, table: pa.Table) -> None:
        raise_for("add", table.column("bad").to_pylist())
        self.rows.append(table)

    def encode_largest(self) -> None:
        self.waiting_bytes = 0

    def rehearse(self) -> None:
        for table in self.rows:
            raise_for("close", table.column("bad").to_pylist())

    def close(self) -> list[Any]:
        self.rehearse()
        found = [n for table in self.rows for n in table.column("n").to_pylist()]
        self.stored += found
        return found


@dataclass(frozen=True)
class FileWriter:
    stored: list[int]

    def open(self) -> Files:
        return Files(self.stored)


@contextmanager
def raising_steps() -> Iterator[None]:
    """Make steps raise for records that say so."""
    assign, decode = Router.assign, RecordDecoder.decode

    def prepared(rows: Rows, *args: Any, **named: Any) -> Any:
        raise_for("transform", rows.values)
        return prepare(rows, *args, **named)

    def assigned(self: Router, values: Sequence[bytes | None], topics: Any) -> Any:
        raise_for("route", values)
        return assign(self, values, topics)

    def decoded(self: RecordDecoder, rows: Sequence[bytes | None], **named: Any) -> Decoded:
        raise_for("convert", rows)
        return decode(self, rows, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(task, "prepare", prepared)
        patched.setattr(Router, "assign", assigned)
        patched.setattr(RecordDecoder, "decode", decoded)
        yield


def record(kind: str, offset: int, table: str) -> bytes:
    match kind:
        case "good":
            return b'{"n":%d,"k":"%s"}' % (offset, table.encode())
        case "refused":
            return b'{"n":"x","k":"%s"}' % table.encode()
        case _:
            return b'{"bad":"%s","n":%d,"k":"%s"}' % (kind.encode(), offset, table.encode())


Kinds = st.lists(
    st.tuples(st.sampled_from(["good", "good", "good", "refused", *STEPS]), st.sampled_from(["a", "b", "none"])),
    max_size=30,
)


def batches(kinds: Sequence[tuple[str, str]], size: int) -> list[Rows]:
    rows = [Row(offset, record(kind, offset, table)) for offset, (kind, table) in enumerate(kinds)]
    return [one for begin in range(0, len(rows), size) for one in chunks(rows[begin : begin + size])]


def offsets(result: TaskResult, table: str) -> list[int]:
    return sorted(letter.offset for letter in result.tables[table].dead)


@given(kinds=Kinds, size=st.integers(1, 9))
def test_whatever_a_step_raises_the_record_alone_becomes_a_dead_letter(kinds: list[tuple[str, str]], size: int) -> None:
    stored: list[int] = []
    spec = TaskSpec((TableSpec("db.t", DecodeSpec(COLUMNS, evolve=False), FileWriter(stored)),))
    with raising_steps():
        result = task.run(batches(kinds, size), spec)
    kinds_only = [kind for kind, _ in kinds]
    good = [offset for offset, kind in enumerate(kinds_only) if kind in ("good", "route")]  # nothing is routed here
    assert sorted(stored) == good
    assert offsets(result, "db.t") == [offset for offset in range(len(kinds)) if offset not in good]
    found = result.tables["db.t"]
    assert found.read == len(kinds) == found.stored.total() + len(found.dead)
    for letter in found.dead:
        kind = kinds_only[letter.offset]
        if kind == "refused":
            assert (letter.path, letter.exception) == ("n", None)
            continue
        assert letter.exception is not None
        name, trace = letter.exception
        assert name.rpartition(".")[2] in {error.__name__ for error in RAISED}
        assert name in letter.reason
        assert "Traceback" in trace
        step = "write" if kind in ("add", "close") else kind
        assert letter.reason.startswith(f"step {step} failed unexpectedly with ")


@given(kinds=Kinds, size=st.integers(1, 9))
def test_a_poison_pill_is_refused_by_its_own_table_only(kinds: list[tuple[str, str]], size: int) -> None:
    stored: dict[str, list[int]] = {"db.a": [], "db.b": []}
    decode = DecodeSpec(COLUMNS, evolve=False)
    tables = tuple(TableSpec(name, decode, FileWriter(stored[name])) for name in stored)
    route = Route(("k",), (("db.a", "a"), ("db.b", "b")))
    with raising_steps():
        result = task.run(batches(kinds, size), TaskSpec(tables, routing=Routing(route, Bounds(), frozenset(stored))))
    of = {name: [(o, kind) for o, (kind, table) in enumerate(kinds) if f"db.{table}" == name] for name in stored}
    for name, found in of.items():
        assert sorted(result.tables[name].files) == [offset for offset, kind in found if kind == "good"]
        dead = [offset for offset, kind in found if kind in ("refused", "convert", "add", "close")]
        assert offsets(result, name) == dead
    rest = [o for o, (kind, _) in enumerate(kinds) if kind in ("transform", "route")]
    assert sorted(letter.offset for letter in result.rest.dead) == rest
    everything = [*result.tables.values(), result.rest]
    assert sum(each.read for each in everything) == len(kinds)


def test_a_poison_pill_for_a_table_that_is_to_be_made_keeps_nobody_from_finding_its_columns() -> None:
    route = Routing(Route(("k",), dynamic=True), Bounds(), discover=ANY_COLUMNS)
    kinds = [("good", "db.a"), ("convert", "db.a"), ("convert", "db.b")]
    with raising_steps():
        result = task.run(batches(kinds, 3), TaskSpec((), routing=route))
    assert {name: sorted(columns.fields) for name, columns in result.missing.items()} == {
        "db.a": [("k",), ("n",)],
        "db.b": [],
    }
    assert result.rest.dead == [], "their tables refuse them when they are there"


def one_table(stored: list[int]) -> TaskSpec:
    return TaskSpec((TableSpec("db.t", DecodeSpec(COLUMNS, evolve=False), FileWriter(stored)),))


def test_records_that_raise_together_only_cost_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    decode = RecordDecoder.decode

    def decoded(self: RecordDecoder, rows: Sequence[bytes | None], **named: Any) -> Decoded:
        if {record("good", 2, "x"), record("good", 6, "x")} <= set(rows):
            raise LookupError("both")
        return decode(self, rows, **named)

    monkeypatch.setattr(RecordDecoder, "decode", decoded)
    stored: list[int] = []
    result = task.run(batches([("good", "x")] * 9, 9), one_table(stored))
    assert offsets(result, "db.t") == [6]
    assert sorted(stored) == [0, 1, 2, 3, 4, 5, 7, 8]


@pytest.mark.parametrize("step", ["convert", "close"])
def test_what_every_record_raises_is_no_fault_of_theirs(step: str) -> None:
    stored: list[int] = []
    many = [Row(offset, record(step, 7, "x")) for offset in range(tolerating.ALIKE)]
    alike = [one for begin in range(0, len(many), 30) for one in chunks(many[begin : begin + 30])]
    with raising_steps(), pytest.raises(TerminalError) as raised:
        task.run(alike, one_table(stored))
    told = str(raised.value)
    assert told.startswith(
        "every one of 100 records that were tried fails alike, from topic t, partition 0, offset 0 on: step "
    )
    assert "test_poison.py:" in told
    assert stored == []
    with raising_steps():
        result = task.run(
            [*alike, *chunks([Row(tolerating.ALIKE, record("good", tolerating.ALIKE, "x"))])], one_table(stored)
        )
    assert (stored, len(offsets(result, "db.t"))) == ([tolerating.ALIKE], tolerating.ALIKE)


class Rehearsals:
    """Counts the rehearsals of a search, and their records; records whose value is in `bad` raise."""

    def __init__(self, *bad: bytes) -> None:
        self.bad = bad
        self.sizes: list[int] = []

    def run(self, chunks: Iterable[Rows], pills: poison.PoisonPills) -> int:
        for rows in chunks:
            with poison.step("convert"):
                for value in pills.divide(rows)[0].values:
                    if value in self.bad:
                        raise LookupError(value)
        return len(pills)

    def rehearse(self, rows: Rows, pills: poison.PoisonPills) -> None:
        self.sizes.append(len(rows))
        self.run([rows], pills)

    def of(self, values: Sequence[bytes]) -> int:
        """Number of the pills that are found among values, in chunks of 1,000."""
        self.sizes.clear()
        rows = [Row(offset, value) for offset, value in enumerate(values)]
        read = [one for at in range(0, len(rows), 1000) for one in chunks(rows[at : at + 1000])]
        return tolerating.tolerating(lambda: (one for one in read), self.run, self.rehearse)


def test_what_every_record_raises_is_said_after_the_first_records() -> None:
    search = Rehearsals(b"bad")
    with pytest.raises(TerminalError, match=r"fails alike, from topic t, partition 0, offset 0 on"):
        search.of([b"bad"] * 20_000)
    assert len(search.sizes) < tolerating.ALIKE + 2 * 20
    assert sum(search.sizes) < 2000 + len(search.sizes)


def test_many_records_that_raise_are_found_in_few_rehearsals_of_few_records(caplog: pytest.LogCaptureFixture) -> None:
    search = Rehearsals(b"bad")
    for place in (0, 50, 2999):  # one good record among the others
        assert search.of([b"good" if n == place else b"bad" for n in range(3000)]) == 2999
        assert len(search.sizes) < 3000 + 200
        assert sum(search.sizes) < 3 * 3000
    assert any("1,000 records that raise what nothing has foreseen" in one.getMessage() for one in caplog.records)
    assert search.of([b"bad" if n % 300 == 7 else b"good" for n in range(3000)]) == 10
    assert len(search.sizes) < 10 * 2 * 10 + 2 * 3 * 10
    assert sum(search.sizes) < 5 * 3000


def test_records_that_raise_at_first_and_good_ones_far_behind_them_stop_nothing() -> None:
    assert Rehearsals(b"bad").of([b"bad"] * 500 + [b"good"] * 400) == 500


def test_a_few_records_that_fail_alike_stop_nothing() -> None:
    with raising_steps():
        result = task.run(batches([("convert", "x")] * 2, 2), one_table([]))
    assert offsets(result, "db.t") == [0, 1]


def test_what_no_record_raises_ends_the_task_and_names_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def close(self: Files) -> list[Any]:
        raise LookupError("lost")

    monkeypatch.setattr(Files, "close", close)
    with pytest.raises(
        TerminalError, match="step write: LookupError: lost at .* from topic t, partition 0, offset 0 on"
    ):
        task.run(batches([("good", "x")] * 3, 2), one_table([]))


@pytest.mark.parametrize("error", [ServiceUnavailable("away"), OSError("no space left"), MemoryError()])
def test_what_says_nothing_of_a_record_is_not_looked_for_in_one(error: Exception) -> None:
    def add(self: Files, table: pa.Table) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patched, pytest.raises(type(error)):
        patched.setattr(Files, "add", add)
        task.run(batches([("good", "x")], 1), one_table([]))


def test_records_are_read_again_from_a_source_that_was_given_up_before() -> None:
    opened: list[str] = []

    def read() -> Iterator[Rows]:
        opened.append("open")
        try:
            yield from batches([("good", "x"), ("convert", "x")], 1)
        finally:
            opened.append("closed")

    def once(chunks: Any, pills: poison.PoisonPills) -> int:
        for rows in chunks:
            with poison.step("convert"):
                raise_for("convert", pills.divide(rows)[0].values)
        return len(pills)

    assert tolerating.tolerating(read, once, lambda rows, pills: once([rows], pills)) == 1  # type: ignore[arg-type]
    assert opened == ["open", "closed"] * 3


def test_counts_stay_whole_when_dead_letters_are_too_many_for_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.pipeline.bookings.MAX_DEAD_BYTES", 10)
    with raising_steps():
        result = task.run(batches([("convert", "x"), ("good", "x"), ("add", "x")], 2), one_table([]))
    assert result.tables["db.t"].overflow
    assert Counter(result.tables["db.t"].files) == Counter()
