"""Maintenance of the tables of the worker's connectors: one table at a time, behind the connectors' batches."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from frazil.connectors.iceberg.maintenance.policy import Policy, StepResult
from frazil.connectors.iceberg.maintenance.run import Maintenance
from frazil.connectors.iceberg.spark.runtime import IcebergRuntime
from frazil.connectors.sink import MaintainedTables
from frazil.engine.failures import classify
from frazil.engine.spark import MAINTENANCE_POOL
from frazil.errors import FrazilError, NotFound

logger = logging.getLogger(__name__)

_FIRST_S = 600.0
"""A worker that is restarted often gets to its tables all the same."""


@dataclass(frozen=True)
class MaintenanceReport:
    """Report of a run over one table; `error` is of a run that did not begin."""

    connector: str
    table: str
    seconds: float
    steps: tuple[StepResult, ...] = ()
    error: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.error) or any(step.failed for step in self.steps)

    @property
    def done(self) -> str:
        """Steps of the run and what each has done, in one line."""
        return ", ".join(
            f"{step.step} {'FAILED: ' + step.note if step.failed else f'{step.before} to {step.after} {step.unit}'}"
            for step in self.steps
        )

    @property
    def bytes_freed(self) -> int:
        return sum(step.bytes_removed or 0 for step in self.steps)


@dataclass(frozen=True)
class Schedule:
    """Schedule of a connector's tables: the next run begins in `next_s` seconds, 0 or less for now. `newest` has the
    newest report of each table with its time in epoch seconds."""

    next_s: float
    newest: Mapping[str, tuple[float, MaintenanceReport]]


Maintain = Callable[[Mapping[str, str], str, Policy], Sequence[StepResult]]
"""Looks after one table, given by catalog properties and name; may raise FrazilError."""


def maintainer(runtime: IcebergRuntime) -> Maintain:
    """Maintenance in Spark, whose jobs wait while connectors have work for all cores."""

    def maintain(properties: Mapping[str, str], table: str, policy: Policy) -> Sequence[StepResult]:
        runtime.session.sparkContext.setLocalProperty("spark.scheduler.pool", MAINTENANCE_POOL)
        return Maintenance(runtime, properties).run(table, policy)

    return maintain


class MaintenanceSchedule:
    """Runs maintenance for the connectors that are added, in a thread of its own.

    A run that fails is logged and counted, and the next one comes in its time; the connector is not touched by it.
    """

    def __init__(
        self, maintain: Maintain, observe: Callable[[MaintenanceReport], None], first_s: float = _FIRST_S
    ) -> None:
        self._maintain = maintain
        self._observe = observe
        self._first_s = first_s
        self._changed = threading.Condition()
        self._tables: dict[str, MaintainedTables] = {}
        self._due: dict[str, float] = {}
        self._newest: dict[str, dict[str, tuple[float, MaintenanceReport]]] = {}
        self._closing = False
        self._thread: threading.Thread | None = None

    def add(self, connector: str, tables: MaintainedTables) -> None:
        """Look after a connector's tables from now on; the thread starts with the first of them."""
        with self._changed:
            first = min(self._first_s, tables.config.interval_ms / 1000)
            self._tables[connector] = tables
            self._due.setdefault(connector, time.monotonic() + first)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, connector: str) -> None:
        """Leave a connector's tables alone; a run over one of them goes on to its end."""
        with self._changed:
            self._tables.pop(connector, None)
            self._newest.pop(connector, None)

    def now(self, connector: str) -> None:
        """Let the next run over a connector's tables begin as soon as none is going on. Raises NotFound without one."""
        with self._changed:
            if connector not in self._tables:
                raise NotFound(
                    f"Connector {connector} has no schedule of maintenance here; set frazil.maintenance.interval.ms"
                )
            self._due[connector] = time.monotonic()
            self._changed.notify()

    def of(self, connector: str) -> Schedule | None:
        """The schedule of a connector; None when it has none on this worker."""
        with self._changed:
            if connector not in self._tables:
                return None
            return Schedule(self._due[connector] - time.monotonic(), dict(self._newest.get(connector, {})))

    def close(self) -> None:
        """Begin no more runs; the one that is going on ends with the session."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    def _run(self) -> None:
        while (connector := self._next()) is not None:
            with self._changed:
                tables, due = self._tables.get(connector), self._due[connector]
            if tables is None:
                continue
            try:
                for table, branch in tables.branches().items():
                    if not self._closing:
                        self._visit(connector, table, branch, tables)
            except BaseException:  # the thread goes on for the tables of all connectors
                logger.exception("maintenance for connector %s ended; it is tried again in its time", connector)
            with self._changed:
                if self._due[connector] == due:  # else somebody wants another one
                    self._due[connector] = time.monotonic() + tables.config.interval_ms / 1000

    def _next(self) -> str | None:
        """The connector whose time has come; None at the end."""
        with self._changed:
            while not self._closing:
                now = time.monotonic()
                due = {name: self._due[name] for name in self._tables}
                first = min(due, key=due.__getitem__, default=None)
                if first is not None and due[first] <= now:
                    return first
                self._changed.wait(None if first is None else due[first] - now)
            return None

    def _visit(self, connector: str, table: str, branch: str, tables: MaintainedTables) -> None:
        started = time.monotonic()
        steps: tuple[StepResult, ...] = ()
        failure = ""
        try:
            policy = Policy(branch=branch, keep_ms=tables.config.keep_ms, keep_snapshots=tables.config.keep_snapshots)
            steps = tuple(self._maintain(tables.catalog_properties, table, policy))
        except BaseException as error:
            if self._closing:
                logger.info("maintenance of %s ends with the worker; what it had not committed is not in it", table)
                return
            failure = str(error if isinstance(error, FrazilError) else classify(error))
        report = MaintenanceReport(connector, table, time.monotonic() - started, steps, failure)
        with self._changed:
            if connector in self._tables:
                self._newest.setdefault(connector, {})[table] = time.time(), report
        self._observe(report)
        _log(report)


def _log(report: MaintenanceReport) -> None:
    what = f"maintenance of {report.table} for connector {report.connector}"
    if report.error:
        logger.warning("%s was not done, and is tried again in its time: %s", what, report.error)
        return
    logger.info("%s took %.1f s and freed %.1f MB: %s", what, report.seconds, report.bytes_freed / 1e6, report.done)
