"""A connector that is started and stopped again leaves nothing behind: no thread, no descriptor, no memory."""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.breakers import Breakers
from frazil.connectors.connector import open_connector
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config
from frazil.connectors.iceberg.sink_task import IcebergSinkTask
from frazil.connectors.positions import Changes
from frazil.connectors.sink import Runs, Sink, SinkContext
from frazil.declare.providers import ConfigProviders
from frazil.engine.engine import Engine
from frazil.engine.maintenance import MaintenanceSchedule
from frazil.engine.runner import SinkRunner
from frazil.errors import ServiceUnavailable
from frazil.stack.local import LocalStack
from tests.connectors.broker import BOOTSTRAP
from tests.connectors.iceberg.driver import SIMPLE, record
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.connectors.samples import MINIMAL_SINK
from tests.engine.session import Session
from tests.engine.test_runner import POLL_S, Worker, soon
from tests.harness import send

RESTARTS, WARM = 20, 5
"""How many, and after how many of them nothing more may be held."""
SOAK = 2000
WARM_UP = 100


@dataclass(frozen=True)
class Held:
    """Threads and descriptors that this process has, and its memory in bytes."""

    threads: int
    descriptors: int
    memory: int

    @classmethod
    def quiet(cls) -> Held:
        """What is held when nothing is on its way out: clients of Kafka end in threads of their own."""
        several = []
        for _ in range(20):
            several.append(cls.now())
            time.sleep(0.1)
        return cls(*(min(getattr(each, what) for each in several) for what in ("threads", "descriptors", "memory")))

    @classmethod
    def now(cls) -> Held:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        threads, descriptors = (sum(1 for _ in Path(f"/proc/self/{of}").iterdir()) for of in ("task", "fd"))
        return cls(threads, descriptors, pages * os.sysconf("SC_PAGESIZE"))


class MemorySink(Sink):
    """An Iceberg sink on a cluster and a catalog in memory; `tasks` are those it has started, while they live."""

    def __init__(self, worker: Worker, catalog: MemoryCatalog) -> None:
        self._config = iceberg_sink_config({**MINIMAL_SINK, "iceberg.control.commit.interval-ms": "1"})
        self._worker = worker
        self._catalog = catalog
        self.tasks: list[weakref.ref[IcebergSinkTask]] = []

    @property
    def config(self) -> IcebergSinkConfig:
        return self._config

    def start(self, context: SinkContext, topics: Sequence[str]) -> IcebergSinkTask:
        made = IcebergSinkTask(
            self._config, BOOTSTRAP, self._catalog, topics, self._worker.broker.source(), None, context
        )
        self.tasks.append(weakref.ref(made))
        return made

    def alter(self, changes: Changes | None) -> list[str]:
        return []


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    made = Worker(monkeypatch)
    yield made
    made.close()


def left(made: Sequence[weakref.ref[Any]]) -> list[Any]:
    """What is still there of these objects.

    What measures coverage looks at the local variables of all frames, and Python 3.11 keeps with a frame what it had
    when it was last looked at: a look brings that up to date.
    """
    gc.collect()
    for frame in sys._current_frames().values():  # noqa: SLF001
        each: FrameType | None = frame
        while each is not None:
            _ = each.f_locals
            each = each.f_back
    return [found for one in made if (found := one()) is not None]


def named_threads() -> list[str]:
    """The names of all threads; a pool, which has as many as it once had work for, is one."""
    return sorted({re.sub(r"^(ThreadPoolExecutor-\d+)_\d+$", r"\1", one.name) for one in threading.enumerate()})


def test_a_restart_frees_everything(worker: Worker, tmp_path: Path) -> None:
    catalog = MemoryCatalog(tmp_path, {"db.landing": SIMPLE})
    sink = MemorySink(worker, catalog)
    runners: list[weakref.ref[SinkRunner]] = []
    warm, threads = Held.now(), named_threads()
    for number in range(RESTARTS):
        runner = worker.runner(sink)
        worker.runners.clear()
        runners.append(weakref.ref(runner))
        worker.broker.send("t", [record(number)])
        runner.start()
        soon(lambda: len(worker.reports) > number)  # noqa: B023 - it is called here
        runner.stop(1.0)
        soon(lambda: f"ends-{BOOTSTRAP}" not in {thread.name for thread in threading.enumerate()})
        del runner
        if number == WARM - 1:
            warm, threads = Held.now(), named_threads()
    soon(lambda: not left(runners))  # a thread that has been stopped may still end
    now = Held.now()
    assert not left(sink.tasks)
    assert len(worker.engine._busy) == 0  # noqa: SLF001
    assert (named_threads(), now.descriptors) == (threads, warm.descriptors)
    rows = catalog.load_table("db.landing").scan().to_arrow()["id"].to_pylist()
    assert sorted(rows) == list(range(RESTARTS))


class Soak:
    """An engine in this process, on the real cluster, store and catalog."""

    def __init__(self, stack: LocalStack) -> None:
        self.settings = stack.settings
        session: Any = Session()
        self.reports = 0
        self.breakers = Breakers()
        maintenance = MaintenanceSchedule(lambda *_: [], lambda report: None)
        self.engine = Engine(session, self._observe, maintenance, self.breakers, Runs("run"))
        self.engine._planner._poll_s = POLL_S  # noqa: SLF001
        self.topic = f"soak-{uuid.uuid4().hex[:8]}"
        kafka_topics.ensure_topics(self.settings.bootstrap_servers, {self.topic: (1, {})})

    def _observe(self, report: object) -> None:
        self.reports += 1

    def config(self, **changes: str) -> Mapping[str, str]:
        return {
            **MINIMAL_SINK,
            "topics": self.topic,
            "iceberg.tables": f"soak.{self.topic.replace('-', '_')}",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.control.commit.interval-ms": "1",
            **{f"iceberg.catalog.{key}": value for key, value in self.settings.catalog_properties().items()},
            **changes,
        }

    def start(self, name: str, **changes: str) -> SinkRunner:
        connector = open_connector(name, self.config(**changes), self.settings, ConfigProviders({}))
        runner = self.engine.runner(connector, lambda: None)
        runner.start()
        return runner

    def flat(self, count: int, once: Callable[[int], None]) -> None:
        """Do something many times; what this process holds stays within 5 % of what it holds after a few times."""
        for number in range(WARM_UP):
            once(number)
        before = Held.quiet()
        for number in range(WARM_UP, count):
            once(number)
        after = Held.quiet()
        for what in ("threads", "descriptors", "memory"):
            assert getattr(after, what) <= 1.05 * getattr(before, what), f"{what}: {before} became {after}"


@pytest.fixture
def soak(stack: LocalStack) -> Iterator[Soak]:
    made = Soak(stack)
    yield made
    made.engine.close()


@pytest.mark.stack
@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_two_thousand_restarts_hold_what_one_holds(soak: Soak) -> None:
    def restart(number: int) -> None:
        if number % 20 == 0:
            send(soak.settings.bootstrap_servers, soak.topic, [record(number)])
        seen = soak.reports
        runner = soak.start("soak")
        if number % 20 == 0:
            soon(lambda: soak.reports > seen)
        runner.stop(5.0)

    soak.flat(SOAK, restart)


@pytest.mark.stack
@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_two_thousand_connectors_that_come_and_go_hold_what_one_holds(soak: Soak) -> None:
    soak.flat(SOAK, lambda number: soak.start(f"soak-{number}").stop(5.0))


@pytest.mark.stack
@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_a_catalog_that_is_away_for_two_thousand_starts_costs_nothing(soak: Soak) -> None:
    def fail(number: int) -> None:
        with suppress(ServiceUnavailable):
            soak.start("soak", **{"iceberg.catalog.uri": "http://127.0.0.1:9"})
            raise AssertionError("it cannot start")

    soak.flat(SOAK, fail)
