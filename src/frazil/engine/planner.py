"""Planner of connectors: a loop per cluster asks for the ends of all topics, and offers them to its runners.

A runner whose sink says that records are due gets a turn in a thread of the pool; one that has more than a batch gets
its next turn behind the others that wait.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection
from typing import Protocol

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.client import TIMEOUT_S, Settling
from frazil.connectors.source import matching
from frazil.engine.failures import classify
from frazil.engine.threads import Threads
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import FrazilError, ServiceUnavailable
from frazil.pipeline.offsets import Offsets

logger = logging.getLogger(__name__)

POLL_S = 0.5
_TOPICS_S = 5.0
"""Seconds between two looks for topics that patterns match."""
_PATIENCE = 2
"""A connector fails when its topics could not be looked at so often in a row."""
_TURNS = 16
"""Batches that are planned and committed at the same time: most of them wait for Spark, the store or the catalog."""


class Planned(Protocol):
    """A connector that waits for its turns; its methods are called from the loop of its cluster."""

    @property
    def cluster(self) -> Bootstrap: ...
    @property
    def topics(self) -> Collection[str]:
        """Topics that the runner has read until now, or is to read."""
        ...

    @property
    def pattern(self) -> str | None:
        """Pattern of topics that come later, Java's `topics.regex`."""
        ...

    @property
    def committed(self) -> bool:
        """Whether the runner reads up to open transactions only."""
        ...

    @property
    def is_waiting(self) -> bool:
        """Whether the runner can have a turn."""
        ...

    def offer(self, ends: Offsets, now_ms: int) -> None:
        """Take a turn if records below these ends are due."""

    def fail(self, error: BaseException) -> None:
        """End: the ends cannot be told."""


class Planner:
    """The loops of all clusters, and the threads of the turns."""

    def __init__(self, poll_s: float = POLL_S) -> None:
        self._poll_s = poll_s
        self._turns = Threads(_TURNS, "batch")
        self._lock = threading.Lock()
        self._loops: dict[tuple[object, ...], _ClusterLoop] = {}

    def add(self, runner: Planned) -> None:
        """Offer ends to a runner from now on."""
        key = runner.cluster.identity("admin")
        with self._lock:
            if key in self._loops:
                self._loops[key].add(runner)
            else:
                self._loops[key] = _ClusterLoop(runner, self._poll_s)

    def remove(self, runner: Planned) -> None:
        """Leave a runner alone; the loop of its cluster ends with the last one."""
        key = runner.cluster.identity("admin")
        with self._lock:
            if key in self._loops and self._loops[key].remove(runner):
                del self._loops[key]

    def take_turn(self, turn: Callable[[], None]) -> None:
        """Run a turn as soon as a thread is free."""
        self._turns.submit(turn)

    def close(self) -> None:
        """Begin no more turns."""
        self._turns.close()


class _ClusterLoop:
    """The loop of one cluster, in a thread of its own."""

    def __init__(self, first: Planned, poll_s: float) -> None:
        self._cluster = first.cluster
        self._poll_s = poll_s
        self._changed = threading.Condition()
        self._runners: dict[int, Planned] = {id(first): first}
        self._ended = False
        self._names: list[str] = []
        self._named_at: float | None = None
        self._failures: dict[int, tuple[int, float]] = {}
        threading.Thread(target=self._run, name=f"ends-{first.cluster}", daemon=True).start()

    def add(self, runner: Planned) -> None:
        """Look for the runner too."""
        with self._changed:
            self._runners[id(runner)] = runner

    def remove(self, runner: Planned) -> bool:
        """Forget the runner; whether it was the last one, and the loop ends."""
        with self._changed:
            self._runners.pop(id(runner), None)
            self._failures.pop(id(runner), None)
            self._ended = not self._runners
            self._changed.notify()
            return self._ended

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._ended:
                    return
                runners = [runner for runner in self._runners.values() if runner.is_waiting]
            for committed in (False, True):
                alike = [runner for runner in runners if runner.committed is committed]
                if alike:
                    self._look(alike, committed=committed)
            with self._changed:
                self._changed.wait_for(lambda: self._ended, self._poll_s)

    def _look(self, runners: Collection[Planned], *, committed: bool) -> None:
        """Ask once for the topics of runners, and offer each what it reads."""
        try:
            wanted = {id(runner): self._topics(runner) for runner in runners}
            found = kafka_offsets.look_at_ends(
                self._cluster, {t for some in wanted.values() for t in some}, committed=committed
            )
        except BaseException as error:  # of whatever kind: the loop goes on for all connectors of its cluster
            for runner in runners:
                self._failed(runner, classify(error))
            return
        by_topic: dict[str, Offsets] = {}
        for key, end in found.ends.items():
            by_topic.setdefault(key[0], {})[key] = end
        now_ms = round(time.time() * 1000)
        for runner in runners:
            topics = wanted[id(runner)]
            problem = next((found.errors[topic] for topic in topics if topic in found.errors), None)
            if problem is not None:
                self._failed(runner, problem)
                continue
            self._failures.pop(id(runner), None)
            try:
                runner.offer({key: end for topic in topics for key, end in by_topic.get(topic, {}).items()}, now_ms)
            except BaseException as error:
                runner.fail(error)

    def _topics(self, runner: Planned) -> Collection[str]:
        if runner.pattern is None:
            return runner.topics
        if self._named_at is None or time.monotonic() - self._named_at > _TOPICS_S:
            self._names, self._named_at = kafka_topics.topics(self._cluster), time.monotonic()
        return {*runner.topics, *matching(runner.pattern, self._names)}

    def _failed(self, runner: Planned, error: FrazilError) -> None:
        """Let a runner fail whose topics were not to be seen twice. The next start says what has become of them.

        A partition that gets another leader has as long as calls of other clients wait for one.
        """
        with self._changed:
            count, since = self._failures.pop(id(runner), (0, time.monotonic()))
            settles = isinstance(error, Settling) and time.monotonic() - since < TIMEOUT_S
            if settles or count + 1 < _PATIENCE:
                if id(runner) in self._runners:
                    self._failures[id(runner)] = count + 1, since
                return
        if not isinstance(error, ServiceUnavailable):
            error = ServiceUnavailable(f"what was read until now cannot be looked at any more: {error}")
        runner.fail(error)
