from __future__ import annotations

import pytest

from frazil.engine.failures import classify, trace
from frazil.errors import (
    BadRecord,
    ConfigError,
    Fenced,
    FrazilError,
    NotFound,
    PositionLost,
    ServiceUnavailable,
    TerminalError,
    TransientError,
)

PLAN = """
=== Streaming Query ===
Identifier: sink-x [id = adadccdd-033f-4289-a975-7339e064eab3, runId = 398b0c2d-db73-4bd2-a2a6-6d444e96c3ee]
Current Committed Offsets: {KafkaV2[Subscribe[x]]: {"x":{"0":38,"1":32}}}
Current Available Offsets: {KafkaV2[Subscribe[x]]: {"x":{"0":38,"1":32}}}

Current State: ACTIVE
Thread State: RUNNABLE
"""
LOSS = """Some data may have been lost because they are not available in Kafka any more;
either the data was aged out by Kafka or the topic may have been deleted before all the data in the
topic was processed.
If you don't want your streaming query to fail on such cases, set the source option failOnDataLoss to false.
"""
IN_A_TASK = "An error occurred while calling o330.collectToPython.\n: org.apache.spark.sql.kafka010."

# What Spark 4.1.1 raised on a Kafka 4.3.1 broker; stack traces are left out.
DELETED = (
    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition."
    + PLAN
)
MADE_AGAIN = (
    LOSS + """Reason: Partition x-1 offset was changed from 33 to 2.
This could be either 1) a user error that the start offset is set beyond available offset when starting query, or 2) """
    "the kafka topic-partition is deleted and re-created." + PLAN
)
RETENTION = (
    IN_A_TASK
    + "KafkaIllegalStateException: "
    + LOSS
    + """Reason: Could not read records in offset [31, 179) for topic partition x-0
with consumer group frazil-sink-x-30b4a332-c3dc-44c8-9e23-135cd724c66f-418947585-executor.
\tat org.apache.spark.sql.kafka010.KafkaExceptions$.couldNotReadOffsetRange(KafkaExceptions.scala:101)"""
)
PATTERN_LOST_A_TOPIC = LOSS + "Reason: Partitions Set(x-0, x-1) have been deleted." + PLAN
BROKER_GONE = (
    "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listNodes" + PLAN
)
PARTITIONS_ADDED = (
    "Partitions specified for Kafka start offsets don't match what are assigned. Maybe topic partitions are created \n"
    "or deleted while the query is running. Use -1 for latest, -2 for earliest.\nSpecified: Set(x-0) Assigned: Set()"
)


class StreamingQueryException(Exception):
    """Carries the texts as PySpark's class does, which needs a JVM."""


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
    found = classify(StreamingQueryException(text))
    assert isinstance(found, ServiceUnavailable)
    assert f"full: {told}. Nothing of the batch was committed" in str(found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (MADE_AGAIN, "Partition x-1 offset was changed from 33 to 2. What was read"),
        (RETENTION, "Could not read records in offset [31, 179) for topic partition x-0. What was read"),
        (PATTERN_LOST_A_TOPIC, "Partitions Set(x-0, x-1) have been deleted. What was read"),
        (LOSS, "Some data may have been lost"),
    ],
)
def test_records_that_are_gone_are_a_lost_position(text: str, reason: str) -> None:
    failure = classify(StreamingQueryException(text))
    assert type(failure) is PositionLost
    assert f"gone from Kafka: {reason}" in str(failure)
    assert "new name" in str(failure)


@pytest.mark.parametrize("text", [DELETED, PARTITIONS_ADDED])
def test_topics_that_changed_are_looked_at_by_the_next_start(text: str) -> None:
    failure = classify(StreamingQueryException(text))
    assert type(failure) is ServiceUnavailable
    assert text.splitlines()[0] in str(failure)


def test_a_setting_that_kafkas_client_refuses_is_named() -> None:
    reason = "Invalid value -5 for configuration fetch.max.bytes: Value must be at least 0"
    text = f"Job aborted: Lost task 0.0 (TID 33): org.apache.kafka.common.config.ConfigException: {reason}\n\tat x.Y(Z)"
    failure = classify(StreamingQueryException(text))
    assert type(failure) is ConfigError
    assert reason in str(failure) and "consumer.override" in str(failure)


def test_a_broker_that_is_gone_is_transient() -> None:
    failure = classify(StreamingQueryException(BROKER_GONE))
    assert type(failure) is ServiceUnavailable
    assert str(failure) == "Kafka does not answer: " + BROKER_GONE.splitlines()[0]


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
    gone = StreamingQueryException(BROKER_GONE)
    assert len(trace(classify(gone), gone).splitlines()) == 1


def test_a_python_worker_that_was_killed_is_no_reason_to_stop_for_good() -> None:
    text = (
        "An error occurred while calling o9.collectToPython.\n: org.apache.spark.SparkException: Job aborted due to "
        "stage failure: Task 1 in stage 31.0 failed 1 times: Python worker exited unexpectedly (crashed)"
    )

    failure = classify(RuntimeError(text))

    assert isinstance(failure, ServiceUnavailable)
    assert "a Python worker of Spark ended" in str(failure)


def test_an_error_of_a_task_is_told_in_its_own_words() -> None:
    text = (
        "An exception was thrown from the Python worker. Please see the stack trace below.\n"
        'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: unknown codec lzma\n'
    )

    assert str(classify(RuntimeError(text))) == "a task failed: ValueError: unknown codec lzma"
