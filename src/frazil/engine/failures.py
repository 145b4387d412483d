"""What made a query fail: one of our own errors, or Spark's, told apart as transient or terminal."""

from __future__ import annotations

import re
import traceback

from frazil import errors
from frazil.errors import ConfigError, FrazilError, PositionLost, ServiceUnavailable, TerminalError

_OWN_ERROR = re.compile(r"frazil\.errors\.(\w+): ([^\n]+)")
_DATA_LOSS = ("failOnDataLoss", "KAFKA_DATA_LOSS")
_LOST = re.compile(r"Reason: (.+?)\.?(?=\nwith consumer group|\n|$)")
_TOPICS_CHANGED = ("UnknownTopicOrPartitionException", "don't match what are assigned")
_UNREACHABLE = (
    "TimeoutException",
    "DisconnectException",
    "ConnectException",
    "UnknownHostException",
    "No route to host",
)
_CLIENT_SETTING = re.compile(r"org\.apache\.kafka\.common\.config\.ConfigException: ([^\n]+)")
_DISK_FULL = ("No space left on device", "Disk quota exceeded")
_WORKER_DIED = "Python worker exited unexpectedly"
_PYTHON_ERROR = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Invalid): .+)$", re.MULTILINE)
_PY4J = re.compile(r"An error occurred while calling \S+\n: ")


def classify(error: BaseException) -> FrazilError:
    """The error in our tree; a task's own error is found in the text that Spark carries it in.

    A topic that is gone is a passing failure here: the next start of the query looks at what the cluster has, and says
    for good what has happened to the topic and to the position.
    """
    if isinstance(error, FrazilError):
        return error
    text = _PY4J.sub("", str(error), count=1)
    own = _OWN_ERROR.search(text)
    if own is not None:
        kind = getattr(errors, own[1], None)
        if isinstance(kind, type) and issubclass(kind, FrazilError):
            return kind(own[2])
    first_line = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    setting = _CLIENT_SETTING.search(text)
    if setting is not None:
        return ConfigError(
            f"Kafka's client refuses the configuration: {setting[1].rstrip('.')}. Nothing more was read. Correct the "
            "keys consumer.override.* of the connector."
        )
    if any(mark in text for mark in _DATA_LOSS):
        lost = _LOST.search(text)
        return PositionLost(
            f"records that were still to be read are gone from Kafka: {lost[1] if lost else first_line}. What was read "
            "before is in the table. Give the connector a new name to start from what the topic has."
        )
    if any(mark in text for mark in _TOPICS_CHANGED):
        return ServiceUnavailable(f"Kafka does not have what was read until now: {first_line}")
    if any(mark in text for mark in _DISK_FULL):
        full = next(line.strip() for line in text.splitlines() if any(mark in line for mark in _DISK_FULL))
        return ServiceUnavailable(
            f"a disk of the worker is full: {full}. Nothing of the batch was committed; it is read again. Make room in "
            "the folder for temporary files (TMPDIR) and in FRAZIL_HOME."
        )
    if _WORKER_DIED in text:
        return ServiceUnavailable(
            f"a Python worker of Spark ended in the middle of a batch: {first_line}. Nothing of it was committed; "
            "it is read again. Look for the kernel's out-of-memory killer when this comes back."
        )
    if any(mark in text for mark in _UNREACHABLE):
        return ServiceUnavailable(f"Kafka does not answer: {first_line}")
    raised = _PYTHON_ERROR.findall(text.partition("Traceback (most recent call last)")[2])
    if raised:
        return TerminalError(f"a task failed: {raised[0]}")
    return TerminalError(f"{type(error).__name__}: {first_line}")


def trace(failure: FrazilError, cause: BaseException) -> str:
    """The trace of a failed connector: what happened, and where it did when nothing of ours has foreseen it.

    The frames of an error that we know lead through libraries and say no more than its text.
    """
    what = f"{type(failure).__module__}.{type(failure).__qualname__}: {failure}"
    known = isinstance(cause, FrazilError) or type(failure) is not TerminalError
    return what if known else f"{what}\n{''.join(traceback.format_exception(cause)).rstrip()}"
