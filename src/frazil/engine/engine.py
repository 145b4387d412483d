"""Engine that runs the connectors of one worker on one Spark session."""

import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

from pyspark.sql import SparkSession

from frazil.connectors.breakers import Breakers
from frazil.connectors.connector import Connector
from frazil.connectors.sink import Due, Runs, SinkContext, SinkTask
from frazil.engine.jobs import ConnectorJobs, SparkJobs
from frazil.engine.maintenance import MaintenanceSchedule
from frazil.engine.planner import Planner
from frazil.engine.runner import SinkRunner
from frazil.engine.runner_api import Progress
from frazil.engine.traces import Traces
from frazil.environment.private_file import write_private
from frazil.pipeline.report import BatchReport


class Engine:
    """Makes runners, which share the session, the loops that look for records, and the breakers of stores."""

    def __init__(
        self,
        session: SparkSession,
        observe: Callable[[BatchReport], None],
        maintenance: MaintenanceSchedule,
        breakers: Breakers,
        runs: Runs,
        traces: Traces | None = None,
    ) -> None:
        self._jobs = SparkJobs(session)
        self._planner = Planner()
        self._observe = observe
        self._maintenance = maintenance
        self._breakers = breakers
        self._runs = runs
        self._traces = traces
        self._busy: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        """Locks of the connectors that have runners, which hold them."""
        self._runners: WeakValueDictionary[str, SinkRunner] = WeakValueDictionary()

    def runner(self, connector: Connector, changed: Callable[[], None]) -> SinkRunner:
        """A runner for the connector, which does nothing until it is started; see `RunnerFactory`."""
        jobs = self._jobs.of(connector.name)
        traced = None if self._traces is None else self._traces.of(connector.name, jobs)
        made = SinkRunner(
            connector,
            SinkContext(traced or jobs, self._breakers, self._runs),
            jobs,
            self._planner,
            self._maintenance,
            self._observe,
            self._busy.setdefault(connector.name, threading.Lock()),
            changed,
            _step if traced is None else traced.step,
        )
        self._runners[connector.name] = made
        return made

    def progress(self, name: str) -> Progress | None:
        """Progress of a connector that runs here; None for any other."""
        runner = self._runners.get(name)
        return None if runner is None else runner.progress()

    def jobs(self, what: str) -> ConnectorJobs:
        """The executor of what is done once for somebody, beside the connectors."""
        return self._jobs.of(what)

    def warm_up(self) -> None:
        """Start Spark's Python workers, so that the first batch does not pay for them."""
        count = self._jobs.measure()
        self._jobs.of("none").run([_stay] * count, "start of the Python workers")

    def close(self) -> None:
        """Begin nothing more; the runners are stopped before."""
        self._planner.close()
        self._jobs.close()


def _step(task: SinkTask, due: Due, committed: Callable[[BatchReport], None]) -> None:
    task.step(due, committed)


def _stay() -> None:
    time.sleep(0.2)  # all workers are to be busy at once, so that there is one for each core


_KEPT = 100


def begin_run(file: Path) -> Runs:
    """Note a new run in the file, which has the last ones, each by an id in a line. Raises OSError."""
    earlier = file.read_text().split() if file.exists() else []
    current = str(uuid.uuid4())
    write_private(file, "".join(f"{run}\n" for run in [*earlier, current][-_KEPT:]))
    return Runs(current, frozenset(earlier))
