"""Runner of a connector: turns in which its sink stores what is due."""

import logging
import threading
import time
from collections.abc import Callable, Collection

from frazil.connectors.connector import Connector
from frazil.connectors.sink import Due, SinkContext, SinkTask
from frazil.engine import failures
from frazil.engine.jobs import ConnectorJobs
from frazil.engine.maintenance import MaintenanceSchedule
from frazil.engine.planner import Planner
from frazil.engine.runner_api import STOP_S, Progress, RunnerStatus
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import Fenced, FrazilError, PartitionsAdded, ServiceUnavailable, StoreUnavailable, TransientError
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport

logger = logging.getLogger(__name__)

Observe = Callable[[BatchReport], None]


class SinkRunner:
    """Runs one connector; see `runner_api.Runner`, and `planner.Planned` for how it gets its turns.

    All runners of a connector share the lock `busy`, which a running batch holds.
    """

    def __init__(
        self,
        connector: Connector,
        context: SinkContext,
        jobs: ConnectorJobs,
        planner: Planner,
        maintenance: MaintenanceSchedule,
        observe: Observe,
        busy: threading.Lock,
        changed: Callable[[], None],
        step: Callable[[SinkTask, Due, Observe], None],
    ) -> None:
        """`step` lets a task store a batch."""
        self._connector = connector
        self._context = context
        self._jobs = jobs
        self._planner = planner
        self._maintenance = maintenance
        self._observe = observe
        self._busy = busy
        self._changed = changed
        self._step = step
        self._lock = threading.Lock()
        self._task: SinkTask | None = None
        self._topics: Collection[str] = ()
        self._ends: Offsets = {}
        self._has_turn = False
        self._stopping = False
        self._failure: tuple[FrazilError, BaseException] | None = None

    @property
    def cluster(self) -> Bootstrap:
        """See `Planned`."""
        return self._connector.cluster

    @property
    def topics(self) -> Collection[str]:
        """See `Planned`."""
        return self._topics

    @property
    def pattern(self) -> str | None:
        """See `Planned`."""
        return self._connector.sink.config.topics_regex

    @property
    def committed(self) -> bool:
        """See `Planned`."""
        return self._connector.sink.config.reads_committed

    @property
    def is_waiting(self) -> bool:
        """See `Planned`."""
        return self._task is not None and not (self._has_turn or self._stopping or self._failure)

    def start(self) -> None:
        """Return when the connector reads; raises FrazilError when it cannot."""
        name = self._connector.name
        if not is_idle(self._busy, BEFORE_S):
            raise ServiceUnavailable(
                f"the batch that connector {name} ran before has not ended after {BEFORE_S:.0f} s; the connector "
                "starts when it has. Look at the store and at the catalog, which it waits for."
            )
        self._topics = self._connector.topics()
        self._task = self._connector.sink.start(self._context, self._topics)
        self._planner.add(self)
        tables = self._task.maintained()
        if tables is not None:
            self._maintenance.add(name, tables)

    def stop(self, timeout: float = STOP_S) -> None:
        """End within `timeout` seconds, and let the running batch finish if it can; idempotent.

        A batch that does not finish in time is cancelled. Whether it is committed or not, its records are not stored
        twice: the next runner of this connector waits for it, and takes its position from where it is stored.
        """
        name = self._connector.name
        with self._lock:
            self._stopping = True
        self._planner.remove(self)
        self._maintenance.remove(name)
        deadline = time.monotonic() + timeout
        if self._task is not None and not is_idle(self._busy, timeout * PATIENCE):
            logger.warning("connector %s: the running batch is given up, its records are read again", name)
            self._jobs.cancel()
            self._task.close()
            is_idle(self._busy, deadline - time.monotonic())
        elif self._task is not None:
            self._task.close()
        if self._failure is None or not isinstance(self._failure[0], StoreUnavailable):
            self._context.breakers.remove(name)

    def status(self) -> RunnerStatus:
        """RUNNING, or FAILED with trace, once started."""
        if self._task is None:
            return RunnerStatus("UNASSIGNED")
        if self._failure is None:
            return RunnerStatus("RUNNING")
        failure, cause = self._failure
        return RunnerStatus(
            "FAILED",
            failures.trace(failure, cause),
            transient=isinstance(failure, TransientError),
            fenced=isinstance(failure, Fenced),
            outgrown=isinstance(failure, PartitionsAdded),
        )

    def progress(self) -> Progress | None:
        """Progress of the connector; None before it has started."""
        return None if self._task is None else Progress(self._task.position, self._ends)

    def offer(self, ends: Offsets, now_ms: int) -> None:
        """See `Planned`."""
        with self._lock:
            if self._task is None or not self.is_waiting:
                return
            self._ends = ends
            try:
                due = self._task.find_due(ends, now_ms)
            except BaseException as error:
                self._note(error)
                return
            self._has_turn = bool(due.ends)
        if due.ends:
            task = self._task
            self._planner.take_turn(lambda: self._turn(task, due))

    def fail(self, error: BaseException) -> None:
        """See `Planned`."""
        with self._lock:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        if self._failure is None and not self._stopping:
            self._failure = failures.classify(error), error
            logger.debug("connector %s: reading ended", self._connector.name, exc_info=error)
            self._changed()

    def _turn(self, task: SinkTask, due: Due) -> None:
        """Store one batch. A batch that is not begun because the connector stops is read by the next runner."""
        with self._busy:
            try:
                if not self._stopping:
                    self._step(task, due, self._committed)
            except BaseException as error:  # the connector is told FAILED, whatever has ended its batch
                self.fail(error)
        with self._lock:
            self._has_turn = False
        if due.more:
            self.offer(self._ends, round(time.time() * 1000))

    def _committed(self, report: BatchReport) -> None:
        self._observe(report)
        if report.read or report.files:
            level = logging.WARNING if report.dead_letters else logging.INFO
            labels = {"connector": report.connector, "table": list(report.places)}
            logger.log(level, "%s", report.line(), extra={"labels": labels, "trace_id": report.trace_id})


BEFORE_S = 5.0
"""Seconds that a batch that was given up has to end before the connector starts again."""
PATIENCE = 0.6
"""The part of the time for stopping that a running batch has to finish."""


def is_idle(busy: threading.Lock, timeout: float) -> bool:
    """Whether the connector's batch has ended, after `timeout` seconds at most."""
    if not busy.acquire(timeout=max(timeout, 0.0)):
        return False
    busy.release()
    return True
