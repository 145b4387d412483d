"""One connector of an object sink: a thread that reads what is complete with Spark, again and again.

It is no streaming query: a query hands over each record once, and records of objects that are still open have to be
read again. The position of the consumer group takes the place of a checkpoint.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_when_event_set, wait_exponential_jitter
from tenacity.nap import sleep_using_event

from frazil.clients.credentials import with_store_access
from frazil.clients.kafka import admin as kafka
from frazil.clients.objects import ObjectStore
from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.connectors.objects.known_topics import KnownTopics, topics_object
from frazil.connectors.objects.results import ObjectsResult, load
from frazil.connectors.objects.schema_file import SchemaFile, schema_object
from frazil.connectors.objects.sink import ObjectSink
from frazil.connectors.objects.task import ObjectsSpec, ObjectsTask
from frazil.engine import failures
from frazil.engine.breakers import Breakers, StoreBreaker
from frazil.engine.busy import BEFORE_S, PATIENCE, is_idle
from frazil.engine.dead_letters import dead_letter_queue
from frazil.engine.runner_api import STOP_S, RunnerStatus
from frazil.engine.source import task_source, topics_of
from frazil.engine.tasks import run_works
from frazil.environment.settings import Settings
from frazil.errors import Fenced, FrazilError, ServiceUnavailable, StoreUnavailable, TransientError
from frazil.pipeline.report import BatchReport
from frazil.pipeline.source import dealt, ranges_between

if TYPE_CHECKING:
    from frazil.connectors.objects.delta.table import DeltaTarget

logger = logging.getLogger(__name__)

_POLL_S = 0.5
_LONGEST_WAIT_S = 60.0
_TOPICS_S = 30.0
"""So often the topics that a pattern stands for are looked up."""


class ObjectRunner:
    """Runs one object sink connector; see `runner_api.Runner`."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        name: str,
        config: Mapping[str, str],
        observe: Callable[[BatchReport], None],
        busy: threading.Lock,
        breakers: Breakers,
    ) -> None:
        """All runners of a connector share the lock `busy`, which a running batch holds.

        Raises ConfigError for a configuration that cannot run.
        """
        self._spark = spark
        self._bootstrap = settings.bootstrap_servers.overridden(config)
        self._config = object_sink_config({**config, "name": name})
        self._store = ObjectStore(with_store_access(self._config.store, settings))
        self._class = config.get("connector.class", "")
        self._observe = observe
        self._busy = busy
        self._breakers = breakers
        self._breaker: StoreBreaker | None = None
        self._stopping = threading.Event()
        self._failure: tuple[FrazilError, BaseException] | None = None
        self._thread: threading.Thread | None = None
        self._job = ""
        self._outage: StoreUnavailable | None = None
        self._next_look = 0.0
        backoff_s = self._config.retry_ms / 1000
        self._backoff = wait_exponential_jitter(max=_LONGEST_WAIT_S, jitter=backoff_s, multiplier=backoff_s)
        self._patiently = Retrying(
            retry=retry_if_exception_type(StoreUnavailable),
            stop=stop_when_event_set(self._stopping),
            wait=self._wait_s,
            sleep=sleep_using_event(self._stopping),
            before_sleep=self._tell,
            reraise=True,
        )

    def start(self) -> None:
        """Return when the connector reads; raises FrazilError when it cannot."""
        self._stopping.clear()
        self._failure = None
        self._outage = None
        if not is_idle(self._busy, BEFORE_S):
            raise ServiceUnavailable(
                f"the batch that connector {self._config.name} ran before has not ended after {BEFORE_S:.0f} s; the "
                "connector starts when it has. Look at the store, which it waits for."
            )
        topics = topics_of(self._config, self._bootstrap)
        self._source = task_source(self._config, self._bootstrap, headers=self._config.reads_headers)
        self._store.check()
        queue = dead_letter_queue(self._config, self._bootstrap, self._class, topics)
        schema = None
        if self._config.json_schema is not None:
            place = schema_object(self._config.layout, self._config.name)
            schema = SchemaFile(self._config.json_schema, place, self._store, self._config.name)
        known = KnownTopics(topics_object(self._config.layout, self._config.name), self._store)
        sink = ObjectSink(self._config, self._bootstrap, queue, self._store, self._run, known, schema, self._table())
        sink.start(topics)
        self._admin = kafka.admin(self._bootstrap)
        self._job = f"frazil-{self._config.name}-{uuid.uuid4().hex}"
        self._breaker = self._breakers.add(self._config.name)
        self._thread = threading.Thread(
            target=self._loop, args=(sink, topics), name=f"objects-{self._config.name}", daemon=True
        )
        self._thread.start()

    def _table(self) -> DeltaTarget | None:
        """The table of a connector that writes one."""
        if self._config.delta is None:
            return None
        from frazil.connectors.objects.delta.table import delta_target

        return delta_target(self._config, self._store.config)

    def stop(self, timeout: float = STOP_S) -> None:
        """End the thread within `timeout` seconds, and let the running batch finish if it can; idempotent.

        A batch that does not finish in time is cancelled; its records are read again, into objects of the same names.
        """
        self._stopping.set()
        deadline = time.monotonic() + timeout
        if not is_idle(self._busy, timeout * PATIENCE):
            logger.warning("connector %s: the running batch is given up, its records are read again", self._config.name)
            self._spark.sparkContext.cancelJobGroup(self._job)
        if self._thread is not None:
            self._thread.join(max(deadline - time.monotonic(), 0.0))
        if self._breaker is not None:
            self._breakers.remove(self._config.name, self._breaker)

    def status(self) -> RunnerStatus:
        """RUNNING, RESTARTING while the store does not take objects, or FAILED, both with trace, once started."""
        if self._thread is None:
            return RunnerStatus("UNASSIGNED")
        outage = self._outage
        if self._failure is None and outage is not None:
            return RunnerStatus("RESTARTING", failures.trace(outage, outage), transient=True)
        if self._failure is None:
            return RunnerStatus("RUNNING")
        failure, cause = self._failure
        return RunnerStatus(
            "FAILED",
            failures.trace(failure, cause),
            transient=isinstance(failure, TransientError),
            fenced=isinstance(failure, Fenced),
        )

    def _loop(self, sink: ObjectSink, topics: list[str]) -> None:
        self._spark.sparkContext.setJobGroup(self._job, f"connector {self._config.name}", interruptOnCancel=True)
        try:
            while not self._stopping.is_set():
                if not self._patiently(self._turn, sink, topics):
                    self._stopping.wait(_POLL_S)
        except Exception as error:
            if not self._stopping.is_set():
                self._failure = failures.classify(error), error
                logger.debug("connector %s: reading ended", self._config.name, exc_info=error)

    def _turn(self, sink: ObjectSink, topics: list[str]) -> bool:
        """Store what may be complete; False when nothing is."""
        self._look_for_topics(topics)
        ends = kafka.end_offsets(self._bootstrap, topics, self._admin, committed=self._source.committed)
        with self._busy:
            if self._stopping.is_set():
                return False
            worked = sink.process(ends, round(time.time() * 1000), self._committed)
        self._outage = None
        return worked

    def _look_for_topics(self, topics: list[str]) -> None:
        """Raise ServiceUnavailable when other topics match the pattern by now: the next start reads these."""
        if self._config.topics_regex is None or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _TOPICS_S
        found = topics_of(self._config, self._bootstrap)
        if found != topics:
            raise ServiceUnavailable(
                f"topics.regex stands for other topics than when the connector started ({', '.join(found)}); it starts "
                "again with them"
            )

    def _wait_s(self, state: RetryCallState) -> float:
        """The wait after a failure: longer each time, and as long as the breaker is open."""
        assert self._breaker is not None  # noqa: S101 - set by `start`
        return self._breaker.open_s if self._breaker.state == "open" else self._backoff(state)

    def _tell(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, StoreUnavailable):
            self._outage = error
        logger.warning("connector %s reads again in %.1f s: %s", self._config.name, state.upcoming_sleep, error)

    def _committed(self, report: BatchReport) -> None:
        self._observe(report)
        level = logging.WARNING if report.dead_letters else logging.INFO
        logger.log(level, "%s", report.line([f"bucket {self._config.store.bucket}"], "record", "object"))

    def _run(self, spec: ObjectsSpec) -> ObjectsResult:
        """Read the ranges of a spec, unless the breaker is open; a store that has failed is asked for little first."""
        breaker = self._breaker
        assert breaker is not None  # noqa: S101 - set by `start`

        def read() -> ObjectsResult:
            try:
                if breaker.state != "closed":
                    self._store.check()
                return self._read(spec)
            except Exception as error:
                failure = failures.classify(error)
                if isinstance(failure, StoreUnavailable):
                    raise failure from error
                raise

        return breaker.call(read)

    def _read(self, spec: ObjectsSpec) -> ObjectsResult:
        """One task for each Kafka partition, or for several of them."""
        shares = dealt(ranges_between(spec.begin, spec.end), self._spark.sparkContext.defaultParallelism)
        result = ObjectsResult()
        for part in run_works(self._spark, [ObjectsTask(spec, self._source, share) for share in shares]):
            result.add(load(part))
        return result
