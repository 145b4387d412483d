"""Failures of connectors: our own errors, or Spark's, told apart as transient or terminal."""

import re
import traceback

from frazil import errors
from frazil.errors import FrazilError, ServiceUnavailable, TerminalError

_OWN_ERROR = re.compile(r"frazil\.errors\.(\w+): ([^\n]+)")
_DISK_FULL = ("No space left on device", "Disk quota exceeded")
_DIED = ("Python worker exited unexpectedly", "ExecutorLostFailure")
_PYTHON_ERROR = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Invalid): .+)$", re.MULTILINE)
_PY4J = re.compile(r"An error occurred while calling \S+\n: ")


def classify(error: BaseException) -> FrazilError:
    """The error in our tree; a task's own error is found in the text that Spark carries it in."""
    if isinstance(error, FrazilError):
        return error
    text = _PY4J.sub("", str(error), count=1)
    own = _OWN_ERROR.search(text)
    if own is not None:
        kind = getattr(errors, own[1], None)
        if isinstance(kind, type) and issubclass(kind, FrazilError):
            return kind(own[2])
    first_line = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    if any(mark in text for mark in _DISK_FULL):
        full = next(line.strip() for line in text.splitlines() if any(mark in line for mark in _DISK_FULL))
        return ServiceUnavailable(
            f"a disk of the worker is full: {full}. Nothing of the batch was committed; it is read again. Make room in "
            "the folder for temporary files (TMPDIR) and in FRAZIL_HOME."
        )
    if any(mark in text for mark in _DIED):
        return ServiceUnavailable(
            f"a Python worker or an executor of Spark ended in the middle of a batch: {first_line}. Nothing of it was "
            "committed; it is read again. Look for the kernel's out-of-memory killer when this comes back."
        )
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
