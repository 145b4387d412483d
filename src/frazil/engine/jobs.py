"""Jobs of connectors on Spark: their tasks run on its executors, anywhere in its cluster.

Small jobs that wait at the same moment, as all cores have one, share one job of Spark, so that a hundred connectors
with few records do not pay for a hundred. Where a shared job fails as a whole, as when a Python worker dies, each has
its tasks run again alone: what ends one connector's batch does not end another's.
"""

from __future__ import annotations

import pickle
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from frazil.engine import failures
from frazil.engine.listening import Driver, Told, take
from frazil.engine.threads import Threads
from frazil.errors import FrazilError, TerminalError
from frazil.pipeline.executor import TaskCall

T = TypeVar("T")

_SMALL_RECORDS = 10_000
"""A job that reads at most so many records may share one."""
_SHARED_RECORDS = 100_000
"""A shared job reads no more records than that, or is one connector's."""
_THREADS = 8
"""Threads that speak to the JVM, each over a connection of its own."""
_SHARERS = _THREADS // 2
"""Most threads that run small jobs, so that large ones get their turn."""
_SPACING_S = 0.01
"""Time between two shared jobs for each connector that has had small ones lately: a hundred of them share a job each
second, and a few wait for nobody. Each job of Spark costs threads for a minute, which forget what it broadcast."""
_LATELY_S = 30.0


class SparkJobs:
    """Runs the jobs of all connectors of a worker; any thread may call it."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._threads = Threads(_THREADS, "spark-job")
        self._lock = threading.Lock()
        self._unfinished: set[_Job] = set()
        self._waiting: list[_Job] = []
        self._sharers = 0
        self._next_shared = 0.0
        self._small: dict[str, float] = {}
        """When each connector had its last small job."""
        self._parallelism = self.measure()
        self._running: dict[str, tuple[_Job, ...]] = {}
        self._closed = False

    def of(self, connector: str) -> ConnectorJobs:
        """The executor of one connector."""
        return ConnectorJobs(self, connector)

    @property
    def parallelism(self) -> int:
        """Number of tasks that run at once in the cluster, as it was at the last job."""
        return self._parallelism

    def measure(self) -> int:
        """Ask the cluster for its parallelism; a call to the JVM, over a connection of the thread's own."""
        self._parallelism = int(self._session.sparkContext.defaultParallelism)
        return self._parallelism

    def close(self) -> None:
        """Take no more jobs, and tell those who wait for one with CancelledError; Spark's end with the session."""
        with self._lock:
            self._closed = True
            unfinished = list(self._unfinished)
        self._threads.close()
        for job in unfinished:
            job.future.cancel()

    def submit(self, job: _Job) -> None:
        """Run a job as soon as a thread is free; its future has the results. Raises TerminalError after `close`."""
        sharers = min(self.parallelism, _SHARERS)
        with self._lock:
            if self._closed:
                raise TerminalError(f"the worker ends; the job for {job.what} was not begun")
            self._unfinished.add(job)
            if job.records is None or job.records > _SMALL_RECORDS:
                self._threads.submit(partial(self._run_alone, job))
            else:
                self._waiting.append(job)
                self._small[job.connector] = time.monotonic()
                if self._sharers < sharers:
                    self._sharers += 1
                    self._threads.submit(self._share)
        job.future.add_done_callback(lambda _: self._forget(job))

    def _forget(self, job: _Job) -> None:
        with self._lock:
            self._unfinished.discard(job)

    def cancel(self, connector: str) -> None:
        """End the jobs of a connector; who shares one with it has its tasks run again."""
        with self._lock:
            for job in self._unfinished:
                job.cancelled |= job.connector == connector
            groups = [group for group, several in self._running.items() if any(job.cancelled for job in several)]
        for group in groups:
            self._session.sparkContext.cancelJobGroup(group)

    def _share(self) -> None:
        while True:
            time.sleep(self._pause())
            with self._lock:
                several = self._next()
                if not several:
                    self._sharers -= 1
                    return
            if len(several) == 1:
                self._run_alone(several[0])
                continue
            try:
                answers = self._spark(several, [call for job in several for call in job.calls], _Answered)
            except Exception:
                with self._lock:
                    for job in () if self._closed else several:
                        self._threads.submit(partial(self._run_alone, job))
                continue
            for job in several:
                job.answer(answers[: len(job.calls)])
                del answers[: len(job.calls)]

    def _pause(self) -> float:
        """Seconds until the next shared job may begin, which is taken; none when there is none to begin."""
        with self._lock:
            if not self._waiting:
                return 0.0
            now = time.monotonic()
            self._small = {name: last for name, last in self._small.items() if now - last < _LATELY_S}
            begin = max(now, self._next_shared)
            self._next_shared = begin + _SPACING_S * len(self._small)
            return begin - now

    def _next(self) -> list[_Job]:
        """The jobs that share the next one, those that have waited longest."""
        records, count = 0, 0
        for job in self._waiting:
            records += job.records or 0
            if count and records > _SHARED_RECORDS:
                break
            count += 1
        several, self._waiting = self._waiting[:count], self._waiting[count:]
        return several

    def _run_alone(self, job: _Job) -> None:
        try:
            if job.in_session is not None:
                with self._group([job]):
                    results = [job.in_session(self._session)]
            else:
                results = self._spark([job], job.calls, _Called)
        except Exception as error:
            job.end(error)
        else:
            job.end(results)

    def _spark(self, several: Sequence[_Job], calls: Sequence[TaskCall[Any]], step: type[_Called]) -> list[Any]:
        """The results of calls as one job: a plain one of numbers. Calls hold credentials, and go through no file."""
        context = self._session.sparkContext
        tasks = min(len(calls), self.parallelism) if len(several) > 1 else len(calls)
        with self._group(several):
            self.measure()
            pickled = tuple(cloudpickle.dumps(call) for call in calls)  # type: ignore[no-untyped-call]
            answers = context.parallelize(range(len(calls)), tasks).map(step(pickled, Driver.here())).collect()
        for _, told in answers:
            take(told)
        return [answer for answer, _ in answers]

    @contextmanager
    def _group(self, several: Sequence[_Job]) -> Iterator[None]:
        """Make what this thread runs on Spark meanwhile one of these jobs, which end when one of them is cancelled."""
        group = f"frazil-{uuid.uuid4().hex}"
        with self._lock:
            if any(job.cancelled for job in several):
                raise TerminalError("the job was given up before it began")
            self._running[group] = tuple(several)
        try:
            self._session.sparkContext.setJobGroup(group, _description(several), interruptOnCancel=True)
            yield
        finally:
            with self._lock:
                del self._running[group]


class ConnectorJobs:
    """The executor of one connector; see `frazil.pipeline.executor.Executor`."""

    def __init__(self, jobs: SparkJobs, connector: str) -> None:
        self._jobs = jobs
        self._connector = connector

    @property
    def parallelism(self) -> int:
        """See `Executor`."""
        return self._jobs.parallelism

    def run(self, calls: Sequence[TaskCall[T]], what: str, records: int | None = None) -> list[T]:
        """See `Executor`. Raises FrazilError where the cause is known, and else what Spark raised."""
        if not calls:
            return []
        job = _Job(self._connector, what, list(calls), records)
        self._jobs.submit(job)
        return job.future.result()

    def in_session(self, do: Callable[[SparkSession], T], what: str) -> T:
        """Call a function with the session, in a thread that speaks to the JVM; as `run` otherwise."""
        job = _Job(self._connector, what, (), None, do)
        self._jobs.submit(job)
        result: T = job.future.result()[0]
        return result

    def cancel(self) -> None:
        """End the jobs that run now, for a connector that cannot wait for them."""
        self._jobs.cancel(self._connector)


@dataclass(eq=False)
class _Job:
    """The calls of one connector, or what it does `in_session`, and the future of their results."""

    connector: str
    what: str
    calls: Sequence[TaskCall[Any]]
    records: int | None
    in_session: Callable[[SparkSession], Any] | None = None
    future: Future[list[Any]] = field(default_factory=Future)
    cancelled: bool = False

    def answer(self, answers: Sequence[tuple[Any, FrazilError | None]]) -> None:
        """Take the answers of a shared job."""
        error = next((error for _, error in answers if error is not None), None)
        self.end([result for result, _ in answers] if error is None else error)

    def end(self, outcome: list[Any] | Exception) -> None:
        """Hand out the results, or the error, unless the worker has ended meanwhile."""
        with suppress(InvalidStateError):
            if isinstance(outcome, Exception):
                self.future.set_exception(_translated(outcome))
            else:
                self.future.set_result(outcome)


@dataclass(frozen=True)
class _Called:
    """The step of a job: makes and runs the call with a number."""

    pickled: tuple[bytes, ...]
    driver: Driver

    def __call__(self, number: int) -> tuple[Any, Told]:
        with self.driver.listens() as told:
            call: Callable[[], Any] = pickle.loads(self.pickled[number])  # noqa: S301 - of the driver
            return self._answer(call), told

    def _answer(self, call: Callable[[], Any]) -> Any:
        return call()


@dataclass(frozen=True)
class _Answered(_Called):
    """The step of a shared job: an error that is foreseen is an answer, as the job is not one connector's alone."""

    def _answer(self, call: Callable[[], Any]) -> tuple[Any, FrazilError | None]:
        try:
            return call(), None
        except FrazilError as error:
            return None, error


def _description(several: Sequence[_Job]) -> str:
    """Description of a job in Spark's UI."""
    first = f"connector {several[0].connector}: {several[0].what}"
    if len(several) == 1:
        return first
    others = ", ".join(dict.fromkeys(job.connector for job in several[1:]))
    return f"{first}; with connectors {others}"


def _translated(error: Exception) -> Exception:
    """The error in our tree where its cause is known, else as it is: its frames are all there is to know."""
    failure = failures.classify(error)
    if failure is error or type(failure) is TerminalError:
        return error
    failure.__cause__ = error
    return failure
