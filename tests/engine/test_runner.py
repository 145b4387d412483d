"""One connector that runs, on a cluster in memory and a sink that keeps what it is told."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from frazil.connectors.breakers import Breakers
from frazil.connectors.connector import Connector
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config
from frazil.connectors.keys.maintenance import MaintenanceConfig
from frazil.connectors.positions import Changes
from frazil.connectors.sink import Due, MaintainedTables, Runs, Sink, SinkContext, SinkTask
from frazil.declare.providers import Resolved
from frazil.engine import runner as running
from frazil.engine.engine import Engine
from frazil.engine.maintenance import MaintenanceSchedule
from frazil.engine.planner import Planner
from frazil.engine.runner import SinkRunner
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import (
    BadRecord,
    Fenced,
    NotFound,
    PositionLost,
    ServiceUnavailable,
    StoreUnavailable,
)
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from tests.connectors.broker import BOOTSTRAP, Broker
from tests.connectors.samples import MINIMAL_SINK
from tests.engine.session import Session
from tests.waits import PATIENCE_S, eventually

POLL_S = 0.005


def soon(check: Callable[[], Any]) -> None:
    eventually(check)


class KeptTask(SinkTask):
    """Stores at most `most` records of each partition in a batch: notes its ends. `during` is called in each batch."""

    def __init__(self, name: str, batches: list[tuple[str, Offsets]], most: int, during: Callable[[], None]) -> None:
        self.name = name
        self.batches = batches
        self.most = most
        self.during = during
        self.looks = 0
        self.due_error: BaseException | None = None
        self.tables: MaintainedTables | None = None
        self.dead_letters = 0
        self.closed = False
        self._position: Offsets = {}
        self._lock = threading.Lock()

    @property
    def position(self) -> Offsets:
        return self._position

    def due(self, ends: Offsets, now_ms: int) -> Due:
        assert not self._lock.locked(), "a batch runs"
        self.looks += 1
        if self.due_error is not None:
            raise self.due_error
        limited = {key: min(end, self._position.get(key, 0) + self.most) for key, end in ends.items()}
        if all(end == self._position.get(key, 0) for key, end in limited.items()):
            return Due()
        return Due(limited, frozenset(key for key, end in ends.items() if limited[key] < end), now_ms)

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        assert self._lock.acquire(blocking=False), "two batches at once"
        try:
            self.during()
            read = sum(due.ends.values()) - sum(self._position.values())
            self._position = due.ends
            self.batches.append((self.name, due.ends))
            dead = min(self.dead_letters, read)
            committed(BatchReport(self.name, read, read - dead, dead, 0, 1, 10, 0.1, 0.1, 0.1, {}, {}, {}, due.ends))
        finally:
            self._lock.release()

    def maintained(self) -> MaintainedTables | None:
        return self.tables

    def close(self) -> None:
        self.closed = True


class KeptSink(Sink):
    """Its tasks share the batches, so that a new one begins where the last one has ended."""

    def __init__(self, name: str, batches: list[tuple[str, Offsets]], most: int = 100) -> None:
        self._config = iceberg_sink_config({**MINIMAL_SINK, "name": name})
        self.batches = batches
        self.most = most
        self.during: Callable[[], None] = lambda: None
        self.start_error: Exception | None = None
        self.tables: MaintainedTables | None = None
        self.tasks: list[KeptTask] = []
        self.started: list[tuple[SinkContext, list[str]]] = []

    @property
    def config(self) -> IcebergSinkConfig:
        return self._config

    def start(self, context: SinkContext, topics: Sequence[str]) -> KeptTask:
        self.started.append((context, list(topics)))
        if self.start_error is not None:
            raise self.start_error
        task = KeptTask(self.name, self.batches, self.most, lambda: self.during())
        task.tables = self.tables
        task._position = next((ends for name, ends in reversed(self.batches) if name == self.name), {})  # noqa: SLF001
        self.tasks.append(task)
        return task

    def alter(self, changes: Changes | None) -> list[str]:
        return []


class Worker:
    """An engine with a session in this process; `runner` makes one, which is stopped with the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broker = Broker().install(monkeypatch)
        self.broker.make("t")
        self.session = Session()
        self.breakers = Breakers()
        self.reports: list[BatchReport] = []
        self.batches: list[tuple[str, Offsets]] = []
        self.maintained: list[str] = []
        self.maintenance = MaintenanceSchedule(self._maintain, lambda report: None, 0.0)
        session: Any = self.session
        self.runs = Runs("run")
        self.engine = Engine(session, self.reports.append, self.maintenance, self.breakers, self.runs)
        self.planner = Planner(POLL_S)
        monkeypatch.setattr(self.engine, "_planner", self.planner)
        self.runners: list[SinkRunner] = []

    def _maintain(self, properties: Mapping[str, str], table: str, policy: object) -> Sequence[Any]:
        self.maintained.append(table)
        return []

    def sink(self, name: str = "c", most: int = 100) -> KeptSink:
        return KeptSink(name, self.batches, most)

    def runner(self, sink: Sink) -> SinkRunner:
        runner = self.engine.runner(Connector(sink.name, Resolved({}), Bootstrap(BOOTSTRAP), sink), lambda: None)
        self.runners.append(runner)
        return runner

    def send(self, count: int = 1) -> None:
        self.broker.send("t", [b"{}"] * count)

    def close(self) -> None:
        for runner in self.runners:
            runner.stop(1.0)
        self.maintenance.close()
        self.engine.close()


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    made = Worker(monkeypatch)
    yield made
    made.close()


class Gate:
    """Holds batches: `entered` is set when one is in it, which goes on when the gate opens."""

    def __init__(self) -> None:
        self.entered, self._open = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.entered.set()
        assert self._open.wait(PATIENCE_S)

    def open(self) -> None:
        self._open.set()


def test_a_started_connector_stores_what_comes(worker: Worker) -> None:
    sink = worker.sink()
    runner = worker.runner(sink)
    assert runner.status().state == "UNASSIGNED"
    worker.send(3)
    runner.start()
    assert runner.status().state == "RUNNING"
    ((context, topics),) = sink.started
    assert (topics, context.breakers, context.runs) == (["t"], worker.breakers, worker.runs)
    assert context.executor.run([lambda: 7], "a look") == [7]
    assert worker.session.jobs[-1].description == "connector c: a look"
    soon(lambda: worker.batches == [("c", {("t", 0): 3})])
    worker.send(2)
    soon(lambda: worker.batches[1:] == [("c", {("t", 0): 5})])
    assert [report.read for report in worker.reports] == [3, 2]


def test_no_turn_is_taken_while_one_runs(worker: Worker) -> None:
    sink, gate = worker.sink(), Gate()
    sink.during = gate
    runner = worker.runner(sink)
    worker.send()
    runner.start()
    assert gate.entered.wait(PATIENCE_S)
    looks = sink.tasks[0].looks
    worker.send()
    time.sleep(10 * POLL_S)
    assert (sink.tasks[0].looks, runner.is_waiting) == (looks, False)
    gate.open()
    soon(lambda: [ends for _, ends in worker.batches] == [{("t", 0): 1}, {("t", 0): 2}])


def test_a_backlog_is_stored_in_one_turn_after_the_other_without_a_look_in_between(worker: Worker) -> None:
    worker.planner._poll_s = 60.0  # noqa: SLF001 - there is one look only
    worker.send(10)
    worker.runner(worker.sink(most=2)).start()
    soon(lambda: [ends["t", 0] for _, ends in worker.batches] == [2, 4, 6, 8, 10])


def test_the_backlog_of_one_connector_does_not_hold_up_another(worker: Worker) -> None:
    """With one thread for all turns."""
    worker.planner._turns._most = 1  # noqa: SLF001
    gate = Gate()
    large, small = worker.sink("large", most=1), worker.sink("small")
    large.during = gate
    worker.send(30)
    worker.runner(large).start()
    assert gate.entered.wait(PATIENCE_S)
    second = worker.runner(small)
    second.start()
    soon(lambda: second._has_turn)  # noqa: SLF001 - it waits behind the first one
    gate.open()
    soon(lambda: len(worker.batches) == 31)
    assert [name for name, _ in worker.batches].index("small") <= 2


@pytest.mark.parametrize(
    ("error", "transient", "fenced", "begins"),
    [
        (ServiceUnavailable("the catalog is away"), True, False, "frazil.errors.ServiceUnavailable: the catalog"),
        (Fenced("another worker"), False, True, "frazil.errors.Fenced: another worker"),
        (BadRecord("offset 7"), False, False, "frazil.errors.BadRecord: offset 7"),
        (ZeroDivisionError("oops"), False, False, "frazil.errors.TerminalError: ZeroDivisionError: oops\nTraceback"),
        (SystemExit(3), False, False, "frazil.errors.TerminalError: SystemExit: 3\nTraceback"),
    ],
)
def test_a_batch_that_fails_ends_the_connector(
    worker: Worker, error: BaseException, transient: bool, fenced: bool, begins: str
) -> None:
    sink = worker.sink()

    def fails() -> None:
        raise error

    sink.during = fails
    runner = worker.runner(sink)
    worker.send()
    runner.start()
    soon(lambda: runner.status().state == "FAILED")
    status = runner.status()
    assert (status.transient, status.fenced) == (transient, fenced)
    assert (status.trace or "").startswith(begins)
    looks = sink.tasks[0].looks
    worker.send()
    time.sleep(5 * POLL_S)
    assert (sink.tasks[0].looks, worker.batches) == (looks, [])


def test_a_look_that_fails_ends_the_connector_before_a_turn(worker: Worker) -> None:
    sink = worker.sink()
    runner = worker.runner(sink)
    runner.start()
    sink.tasks[0].due_error = PositionLost("the topic ends before it")
    soon(lambda: runner.status().state == "FAILED")
    assert "PositionLost" in (runner.status().trace or "")
    worker.send()
    time.sleep(5 * POLL_S)
    assert worker.batches == []


def test_a_look_that_would_end_the_loop_of_all_connectors_ends_its_own_only(worker: Worker) -> None:
    bad, good = worker.sink("bad"), worker.sink("good")
    runner = worker.runner(bad)
    runner.start()
    bad.tasks[0].due_error = SystemExit(1)
    soon(lambda: runner.status().state == "FAILED")
    worker.runner(good).start()
    worker.send()
    soon(lambda: worker.batches == [("good", {("t", 0): 1})])


def test_a_connector_whose_topic_is_gone_fails_and_may_start_again(worker: Worker) -> None:
    runner = worker.runner(worker.sink())
    runner.start()
    worker.broker.delete("t")
    soon(lambda: runner.status().state == "FAILED")
    assert runner.status().transient
    assert "topic t does not exist" in (runner.status().trace or "")


def test_a_failure_keeps_its_first_reason(worker: Worker) -> None:
    runner = worker.runner(worker.sink())
    runner.start()
    runner.fail(BadRecord("first"))
    runner.fail(ServiceUnavailable("second"))
    assert runner.status().trace == "frazil.errors.BadRecord: first"


def test_a_connector_that_cannot_start_is_offered_nothing(worker: Worker) -> None:
    sink = worker.sink()
    sink.start_error = NotFound("table db.landing does not exist")
    runner = worker.runner(sink)
    with pytest.raises(NotFound, match=r"db\.landing"):
        runner.start()
    assert (runner.status().state, worker.planner._loops) == ("UNASSIGNED", {})  # noqa: SLF001
    runner.stop()


def test_a_stop_lets_the_running_batch_finish_and_begins_no_other(worker: Worker) -> None:
    sink, gate = worker.sink(most=1), Gate()
    sink.during = gate
    runner = worker.runner(sink)
    worker.send(5)
    runner.start()
    assert gate.entered.wait(PATIENCE_S)
    stopping = threading.Thread(target=runner.stop)
    stopping.start()
    soon(lambda: runner._stopping)  # noqa: SLF001
    assert stopping.is_alive()
    gate.open()
    stopping.join(PATIENCE_S)
    assert not stopping.is_alive()
    assert worker.batches == [("c", {("t", 0): 1})]
    assert sink.tasks[0].closed
    looks = sink.tasks[0].looks
    time.sleep(5 * POLL_S)
    assert (len(worker.batches), sink.tasks[0].looks) == (1, looks)
    assert worker.planner._loops == {}  # noqa: SLF001 - it is offered nothing any more
    runner.stop()
    assert runner.status().state == "RUNNING", "what happens to a batch that ends is no failure"


def test_a_turn_that_has_not_begun_when_the_connector_stops_reads_nothing(worker: Worker) -> None:
    worker.planner._turns._most = 1  # noqa: SLF001
    gate = Gate()
    first, second = worker.sink("first"), worker.sink("second")
    first.during = gate
    worker.send()
    worker.runner(first).start()
    assert gate.entered.wait(PATIENCE_S)
    runner = worker.runner(second)
    runner.start()
    soon(lambda: runner._has_turn)  # noqa: SLF001
    runner.stop()
    gate.open()
    soon(lambda: not runner._has_turn)  # noqa: SLF001
    assert [name for name, _ in worker.batches] == ["first"]


def test_a_batch_that_takes_too_long_is_cancelled_and_the_next_start_waits_for_its_end(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running, "BEFORE_S", 0.05)
    sink, gate = worker.sink(), Gate()
    sink.during = gate
    runner = worker.runner(sink)
    cancelled: list[str] = []
    monkeypatch.setattr(worker.engine._jobs, "cancel", cancelled.append)  # noqa: SLF001
    worker.send()
    runner.start()
    assert gate.entered.wait(PATIENCE_S)
    began = time.monotonic()
    runner.stop(0.2)
    assert time.monotonic() - began > 0.15
    assert cancelled == ["c"]
    assert sink.tasks[0].closed
    assert "the running batch is given up, its records are read again" in caplog.text
    again = worker.runner(sink)
    with pytest.raises(ServiceUnavailable, match="the batch that connector c ran before has not ended"):
        again.start()
    assert len(sink.started) == 1
    gate.open()
    soon(lambda: worker.batches)
    again = worker.runner(sink)
    again.start()
    assert sink.tasks[-1].position == {("t", 0): 1}
    time.sleep(5 * POLL_S)
    assert len(worker.batches) == 1


def test_a_batch_that_ends_in_the_time_of_its_cancelling_is_waited_for(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, gate = worker.sink(), Gate()
    sink.during = gate
    runner = worker.runner(sink)
    monkeypatch.setattr(worker.engine._jobs, "cancel", lambda connector: gate.open())  # noqa: SLF001
    worker.send()
    runner.start()
    assert gate.entered.wait(PATIENCE_S)
    runner.stop(1.0)
    assert len(worker.batches) == 1


def test_the_next_start_waits_for_a_batch_that_ends_soon(worker: Worker) -> None:
    sink, gate = worker.sink(), Gate()
    sink.during = gate
    runner = worker.runner(sink)
    worker.send()
    runner.start()
    assert gate.entered.wait(PATIENCE_S)
    runner.stop(0.02)
    threading.Timer(0.1, gate.open).start()
    worker.runner(sink).start()
    assert sink.tasks[-1].position == {("t", 0): 1}


@pytest.mark.parametrize(("error", "kept"), [(StoreUnavailable("away"), True), (ServiceUnavailable("away"), False)])
def test_the_breaker_of_a_store_that_is_away_is_kept_over_a_restart(
    worker: Worker, error: Exception, kept: bool
) -> None:
    runner = worker.runner(worker.sink())
    runner.start()
    worker.breakers.of("c")
    runner.fail(error)
    runner.stop()
    assert ("c" in worker.breakers.states()) == kept


def test_the_tables_of_a_running_connector_are_looked_after(worker: Worker) -> None:
    sink = worker.sink()
    config = MaintenanceConfig(20, None, None)
    sink.tables = MaintainedTables(lambda: {"db.landing": "main"}, {}, config)
    runner = worker.runner(sink)
    runner.start()
    soon(lambda: len(worker.maintained) >= 2)
    runner.stop()
    time.sleep(0.1)
    count = len(worker.maintained)
    time.sleep(0.1)
    assert (set(worker.maintained), len(worker.maintained)) == ({"db.landing"}, count)


def test_batches_are_logged_and_those_with_dead_letters_are_warned_of(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "frazil.engine.runner")
    sink = worker.sink()
    runner = worker.runner(sink)
    runner.start()
    worker.send()
    soon(lambda: worker.batches)
    runner.stop()
    second = worker.runner(sink)
    second.start()
    sink.tasks[-1].dead_letters = 1
    worker.send()
    soon(lambda: len(worker.batches) == 2)
    second.stop()
    told = [(record.levelname, record.getMessage().partition(" records")[0]) for record in caplog.records]
    assert [level for level, _ in told] == ["INFO", "WARNING"]


def test_a_closed_engine_begins_nothing_more(worker: Worker) -> None:
    worker.send()
    runner = worker.runner(worker.sink())
    runner.start()
    soon(lambda: worker.batches)
    runner.stop()
    worker.engine.close()
    with pytest.raises(Exception, match="the worker ends"):
        worker.engine._jobs.of("c").run([lambda: 1], "x")  # noqa: SLF001


def test_the_warm_up_has_a_task_for_each_core(worker: Worker) -> None:
    worker.session.defaultParallelism = 3
    worker.engine.warm_up()
    (job,) = worker.session.jobs
    assert (job.calls, job.tasks) == (3, 3)
