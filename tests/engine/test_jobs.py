"""How jobs of connectors share those of Spark, and what is left of them when one fails or is cancelled."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession

from frazil.clients.calls import timed
from frazil.engine import jobs as spark_jobs
from frazil.engine.jobs import SparkJobs
from frazil.errors import FrazilError, ServiceUnavailable, TerminalError
from tests.clients.test_calls import counts
from tests.engine.session import Job, Session
from tests.waits import PATIENCE_S, eventually

LEFT_OPEN = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"  # by PySpark
)


def answer(value: Any) -> Any:
    """What a task does."""
    return value


def fail(error: Exception) -> Any:
    raise error


def calls(*values: Any) -> list[Callable[[], Any]]:
    return [partial(answer, value) for value in values]


class Jobs:
    """Jobs of Spark in this process; `ask` submits one and gives its future."""

    def __init__(self) -> None:
        self.session = Session()
        session: Any = self.session
        self.jobs = SparkJobs(session)
        self._connectors = ThreadPoolExecutor(32)

    def ask(
        self, connector: str, several: Sequence[Callable[[], Any]], records: int | None = 10, what: str = "t-0 0..9"
    ) -> Future[list[Any]]:
        unfinished = self.unfinished()
        future = self._connectors.submit(self.jobs.of(connector).run, several, what, records)
        eventually(lambda: future.done() or self.unfinished() > unfinished)
        return future

    def unfinished(self) -> int:
        return len(self.jobs._unfinished)  # noqa: SLF001 - when the job has come to wait

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While other small jobs run on all cores, so that new ones wait."""
        begun, end = threading.Semaphore(0), threading.Event()

        def held(job: Job) -> None:
            if job.description.startswith("connector busy"):
                begun.release()
                assert end.wait(PATIENCE_S)

        self.session.before, before = held, self.session.before
        waiting = []
        for number in range(self.session.defaultParallelism):
            waiting.append(self.ask(f"busy{number}", calls(0)))
            assert begun.acquire(timeout=PATIENCE_S)
        self.session.before = lambda job: held(job) if job.description.startswith("connector busy") else before(job)
        self.session.jobs.clear()
        yield
        end.set()
        assert not wait(waiting, PATIENCE_S).not_done


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.jobs.close()


def test_a_job_gives_the_results_of_its_calls_in_order(jobs: Jobs) -> None:
    assert jobs.ask("c", calls(3, 1, 2)).result(PATIENCE_S) == [3, 1, 2]
    (job,) = jobs.session.jobs
    assert (job.description, job.calls, job.tasks) == ("connector c: t-0 0..9", 3, 3)
    assert jobs.ask("c", []).result(PATIENCE_S) == []
    assert len(jobs.session.jobs) == 1


def test_small_jobs_that_wait_at_the_same_moment_share_one(jobs: Jobs) -> None:
    with jobs.busy():
        futures = [jobs.ask(name, calls(name, n)) for n, name in enumerate(["a", "b", "a", "c"])]
    assert [future.result(PATIENCE_S) for future in futures] == [["a", 0], ["b", 1], ["a", 2], ["c", 3]]
    (job,) = jobs.session.jobs
    assert (job.description, job.calls, job.tasks) == ("connector a: t-0 0..9; with connectors b, a, c", 8, 2)


def test_a_shared_job_reads_no_more_records_than_it_may(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_jobs, "_SHARED_RECORDS", 100)
    with jobs.busy():
        futures = [jobs.ask(f"c{n}", calls(n), records) for n, records in enumerate([60, 40, 1, 100, 300, 5])]
    assert [future.result(PATIENCE_S) for future in futures] == [[n] for n in range(6)]
    assert sorted(job.calls for job in jobs.session.jobs) == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("records", [10_001, None])
def test_a_large_job_and_one_of_unknown_size_wait_for_no_other(jobs: Jobs, records: int | None) -> None:
    with jobs.busy():
        small = jobs.ask("small", calls("s"))
        assert jobs.ask("large", calls(1, 2, 3, 4, 5), records).result(PATIENCE_S) == [1, 2, 3, 4, 5]
        assert not small.done()
        (job,) = jobs.session.jobs
        assert (job.description, job.tasks) == ("connector large: t-0 0..9", 5)
    assert small.result(PATIENCE_S) == ["s"]


def test_one_slow_job_does_not_hold_up_the_others(jobs: Jobs) -> None:
    begun, end = threading.Event(), threading.Event()

    def before(job: Job) -> None:
        if job.description.startswith("connector slow"):
            begun.set()
            assert end.wait(PATIENCE_S)

    jobs.session.before = before
    slow = jobs.ask("slow", calls(1))
    assert begun.wait(PATIENCE_S)
    for number in range(20):
        assert jobs.ask("quick", calls(number)).result(PATIENCE_S) == [number]
    end.set()
    assert slow.result(PATIENCE_S) == [1]


def test_an_error_of_one_connector_is_its_own_alone(jobs: Jobs) -> None:
    with jobs.busy():
        good = jobs.ask("good", calls(1))
        bad = jobs.ask("bad", [partial(answer, 2), partial(fail, ServiceUnavailable("the store is away"))])
        also = jobs.ask("also", calls(3))
    assert (good.result(PATIENCE_S), also.result(PATIENCE_S)) == ([1], [3])
    with pytest.raises(ServiceUnavailable, match="the store is away"):
        bad.result(PATIENCE_S)
    assert len(jobs.session.jobs) == 1, "an error that is foreseen ends no job"


def test_a_shared_job_that_fails_as_a_whole_is_run_again_for_each_alone(jobs: Jobs) -> None:
    def dies(job: Job) -> None:
        if "connector bad" in job.description or "with" in job.description:
            raise RuntimeError("Python worker exited unexpectedly (crashed)")

    jobs.session.before = dies
    with jobs.busy():
        good, bad, also = (jobs.ask(name, calls(name)) for name in ("good", "bad", "also"))
    assert (good.result(PATIENCE_S), also.result(PATIENCE_S)) == (["good"], ["also"])
    with pytest.raises(ServiceUnavailable, match="ended in the middle of a batch"):
        bad.result(PATIENCE_S)
    assert sorted(job.calls for job in jobs.session.jobs) == [1, 1, 1, 3]


def test_an_error_that_nobody_has_foreseen_ends_its_connector_alone_and_stays_as_it_is(jobs: Jobs) -> None:
    oops = ZeroDivisionError("oops")
    with jobs.busy():
        good, bad = jobs.ask("good", calls(1)), jobs.ask("bad", [partial(fail, oops)])
    assert good.result(PATIENCE_S) == [1]
    with pytest.raises(ZeroDivisionError, match="oops"):
        bad.result(PATIENCE_S)


def test_an_error_of_sparks_whose_cause_is_known_is_one_of_ours(jobs: Jobs) -> None:
    def full(job: Job) -> None:
        raise OSError("No space left on device")

    jobs.session.before = full
    with pytest.raises(ServiceUnavailable, match="a disk of the worker is full") as raised:
        jobs.ask("c", calls(1)).result(PATIENCE_S)
    assert isinstance(raised.value.__cause__, OSError)


def test_a_cancelled_job_fails_and_those_that_share_it_get_their_results(jobs: Jobs) -> None:
    shared = threading.Event()

    def cancel(job: Job) -> None:
        if "with" in job.description:
            jobs.jobs.of("gone").cancel()
            shared.set()

    jobs.session.before = cancel
    with jobs.busy():
        stays, gone, also = (jobs.ask(name, calls(name)) for name in ("stays", "gone", "also"))
    assert (stays.result(PATIENCE_S), also.result(PATIENCE_S)) == (["stays"], ["also"])
    assert shared.is_set()
    with pytest.raises(TerminalError, match="given up"):
        gone.result(PATIENCE_S)
    assert all("gone" not in job.description for job in jobs.session.jobs[1:]), "it is not run again"


def test_a_job_that_is_cancelled_while_it_waits_does_not_begin(jobs: Jobs) -> None:
    with jobs.busy():
        stays, gone = jobs.ask("stays", calls(1)), jobs.ask("gone", calls(2))
        jobs.jobs.of("gone").cancel()
    assert stays.result(PATIENCE_S) == [1]
    with pytest.raises(TerminalError, match="given up before it began"):
        gone.result(PATIENCE_S)
    assert not any("gone" in job.description for job in jobs.session.jobs)


def test_a_large_job_that_is_cancelled_before_a_thread_is_free_does_not_begin(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end = threading.Semaphore(0), threading.Event()

    def held(job: Job) -> None:
        begun.release()
        assert end.wait(PATIENCE_S)

    jobs.session.before = held
    others = [jobs.ask("other", calls(1), None) for _ in range(spark_jobs._THREADS)]  # noqa: SLF001
    for _ in others:
        assert begun.acquire(timeout=PATIENCE_S)
    gone = jobs.ask("gone", calls(2), None)
    jobs.jobs.of("gone").cancel()
    end.set()
    with pytest.raises(TerminalError, match="given up before it began"):
        gone.result(PATIENCE_S)
    assert [other.result(PATIENCE_S) for other in others] == [[1]] * len(others)
    assert not jobs.session.cancelled


def test_cancelling_ends_the_running_jobs_of_one_connector_only(jobs: Jobs) -> None:
    begun, end = threading.Semaphore(0), threading.Event()

    def held(job: Job) -> None:
        begun.release()
        assert end.wait(PATIENCE_S)

    jobs.session.before = held
    mine, other = jobs.ask("mine", calls(1), None), jobs.ask("other", calls(2), None)
    for _ in range(2):
        assert begun.acquire(timeout=PATIENCE_S)
    jobs.jobs.of("mine").cancel()
    end.set()
    assert other.result(PATIENCE_S) == [2]
    with pytest.raises(RuntimeError, match="Job cancelled"):
        mine.result(PATIENCE_S)
    assert jobs.ask("mine", calls(3)).result(PATIENCE_S) == [3], "the next start of the connector has jobs again"


def test_whoever_waits_when_the_worker_ends_is_told(jobs: Jobs) -> None:
    with jobs.busy():
        waiting = jobs.ask("c", calls(1))
        jobs.jobs.close()
        with pytest.raises(CancelledError):
            waiting.result(PATIENCE_S)
    for records in (10, None):
        with pytest.raises(TerminalError, match="the worker ends"):
            jobs.ask("late", calls(1), records).result(PATIENCE_S)


def test_those_whose_shared_job_ends_with_the_session_are_told(jobs: Jobs) -> None:
    def ends(job: Job) -> None:
        jobs.jobs.close()
        raise RuntimeError("SparkContext was shut down")

    jobs.session.before = ends
    with jobs.busy():
        futures = [jobs.ask(name, calls(1)) for name in ("a", "b")]
    for future in futures:
        with pytest.raises(CancelledError):
            future.result(PATIENCE_S)


@pytest.mark.spark
@LEFT_OPEN
def test_on_spark_jobs_are_shared_and_errors_come_as_they_were(spark: SparkSession) -> None:
    """With real Python workers, to which calls and errors are pickled."""
    jobs = SparkJobs(spark)
    with ThreadPoolExecutor(8) as connectors:
        futures = [
            connectors.submit(jobs.of(f"c{n}").run, [partial(answer, n), partial(answer, -n)], "t-0 0..9", 10)
            for n in range(20)
        ]
        bad = connectors.submit(jobs.of("bad").run, [partial(fail, ServiceUnavailable("away"))], "t-0 0..9", 10)
        worse = connectors.submit(jobs.of("worse").run, [partial(fail, ZeroDivisionError("oops"))], "t-0 0..9", 10)
        large = connectors.submit(jobs.of("large").run, calls(*range(5)), "t-0 0..9", None)
        assert [future.result(PATIENCE_S) for future in futures] == [[n, -n] for n in range(20)]
        assert large.result(PATIENCE_S) == list(range(5))
        with pytest.raises(ServiceUnavailable, match="^away$"):
            bad.result(PATIENCE_S)
        with pytest.raises(Exception, match="ZeroDivisionError: oops") as raised:
            worse.result(PATIENCE_S)
        assert not isinstance(raised.value, FrazilError)
    jobs.close()


def speak(level: int) -> None:
    """What a task logs, and a call that it makes."""
    logging.getLogger("tests.of.jobs").log(level, "at %s", logging.getLevelName(level))
    with timed("store"):
        pass


@pytest.mark.spark
@LEFT_OPEN
def test_on_spark_tasks_log_at_the_drivers_levels_as_they_are_set(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    jobs, logger = SparkJobs(spark), logging.getLogger("tests.of.jobs")
    try:
        told = []
        for level in (logging.INFO, logging.DEBUG, logging.ERROR):
            logger.setLevel(level)
            caplog.clear()
            before = counts("store").get("done", 0)
            jobs.of("c").run([partial(speak, logging.DEBUG), partial(speak, logging.INFO)], "t-0 0..9", None)
            told.append([record.getMessage() for record in caplog.records if record.name == logger.name])
            assert counts("store")["done"] == before + 2
        assert told == [["at INFO"], ["at DEBUG", "at INFO"], []]
    finally:
        logger.setLevel(logging.NOTSET)
        jobs.close()
