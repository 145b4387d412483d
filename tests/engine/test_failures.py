from __future__ import annotations

import pytest

from frazil.engine.failures import classify, trace
from frazil.errors import (
    BadRecord,
    Fenced,
    FrazilError,
    NotFound,
    ServiceUnavailable,
    TerminalError,
    TransientError,
)

IN_A_TASK = "An error occurred while calling o330.collectToPython.\n: org.apache.spark.api.python."


class SparkError(Exception):
    """Carries the texts as PySpark's classes do, which need a JVM."""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            IN_A_TASK
            + 'PythonException: \nTraceback (most recent call last):\n  File "spool.py", line 48, in to_disk\n'
            "OSError: [Errno 28] No space left on device\n",
            "OSError: [Errno 28] No space left on device",
        ),
        ("java.io.IOException: No space left on device", "java.io.IOException: No space left on device"),
        ("OSError: [Errno 122] Disk quota exceeded: '/tmp/x'", "OSError: [Errno 122] Disk quota exceeded: '/tmp/x'"),
    ],
)
def test_a_full_disk_passes(text: str, told: str) -> None:
    found = classify(SparkError(text))
    assert isinstance(found, ServiceUnavailable)
    assert f"full: {told}. Nothing of the batch was committed" in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "Job aborted due to stage failure: Task 1 in stage 31.0 failed: Python worker exited unexpectedly (crashed)",
        "Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited unrelated to the running tasks)",
    ],
)
def test_a_worker_of_spark_that_dies_passes(text: str) -> None:
    failure = classify(SparkError(IN_A_TASK + text))
    assert type(failure) is ServiceUnavailable
    assert "a Python worker or an executor of Spark ended in the middle of a batch" in str(failure)


@pytest.mark.parametrize("error", [Fenced("taken over"), BadRecord("offset 7"), ServiceUnavailable("catalog")])
def test_an_own_error_stays_what_it_is(error: FrazilError) -> None:
    assert classify(error) is error


def test_only_what_may_pass_by_itself_is_transient() -> None:
    """A Fenced connector that started again by itself would take turns with the worker that has taken it over."""
    assert not isinstance(classify(Fenced("taken over")), TransientError)
    assert isinstance(classify(ServiceUnavailable("catalog")), TransientError)


def test_the_error_of_a_task_is_found_in_sparks_text() -> None:
    text = (
        "An error occurred while calling o42.collectToPython.\n: org.apache.spark.SparkException: Job aborted: Task 0 "
        'failed: Traceback (most recent call last):\n  File "task.py", line 1, in run\n'
        "frazil.errors.ServiceUnavailable: the object store did not take s3://x. Nothing was committed.\n\tat x"
    )
    failure = classify(RuntimeError(text))
    assert type(failure) is ServiceUnavailable
    assert str(failure) == "the object store did not take s3://x. Nothing was committed."


def test_anything_else_is_terminal_and_named_by_its_first_line_that_says_something() -> None:
    failure = classify(
        RuntimeError("An error occurred while calling o1.x.\n: java.lang.NullPointerException: oops\n\tat")
    )
    assert type(failure) is TerminalError
    assert str(failure) == "RuntimeError: java.lang.NullPointerException: oops"
    assert str(classify(ZeroDivisionError())) == "ZeroDivisionError: ZeroDivisionError"
    assert str(classify(RuntimeError("frazil.errors.BadRecords: not one of ours"))).startswith("RuntimeError: ")


def test_a_trace_begins_with_the_error_by_its_full_name() -> None:
    try:
        raise NotFound("table a.b does not exist")
    except NotFound as error:
        lines = trace(classify(error), error).splitlines()
    assert lines == ["frazil.errors.NotFound: table a.b does not exist"]


def test_only_an_error_that_nothing_has_foreseen_has_frames() -> None:
    try:
        raise ZeroDivisionError("oops")
    except ZeroDivisionError as error:
        lines = trace(classify(error), error).splitlines()
    assert lines[:2] == ["frazil.errors.TerminalError: ZeroDivisionError: oops", "Traceback (most recent call last):"]
    assert lines[-1] == "ZeroDivisionError: oops"
    gone = SparkError("No space left on device\n\tat x")
    assert len(trace(classify(gone), gone).splitlines()) == 1


def test_an_error_of_a_task_is_told_in_its_own_words() -> None:
    text = (
        "An exception was thrown from the Python worker. Please see the stack trace below.\n"
        'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: unknown codec lzma\n'
    )

    assert str(classify(RuntimeError(text))) == "a task failed: ValueError: unknown codec lzma"
