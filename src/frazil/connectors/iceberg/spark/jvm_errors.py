"""Exceptions of Iceberg in the JVM as errors of frazil."""

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from frazil.errors import (
    CommitConflict,
    CommitStateUnknown,
    ConfigError,
    FrazilError,
    NotFound,
    ServiceUnavailable,
    TerminalError,
)

_ICEBERG = "org.apache.iceberg.exceptions."
# The first of these that the exception or one of its causes is decides; state unknown comes before what led to it.
_KINDS: dict[str, tuple[type[FrazilError], str]] = {
    _ICEBERG + "CommitStateUnknownException": (
        CommitStateUnknown,
        "the catalog did not say whether the commit was applied; look at the table's snapshots",
    ),
    _ICEBERG + "CommitFailedException": (CommitConflict, "others changed the table meanwhile; nothing was committed"),
    _ICEBERG + "ValidationException": (CommitConflict, "others changed the table meanwhile; nothing was committed"),
    _ICEBERG + "NoSuchTableException": (NotFound, "it does not exist"),
    _ICEBERG + "NoSuchNamespaceException": (NotFound, "its namespace does not exist"),
    _ICEBERG + "NotAuthorizedException": (ConfigError, "check the access keys and the warehouse's name"),
    _ICEBERG + "ForbiddenException": (ConfigError, "check the access keys and the warehouse's name"),
    _ICEBERG + "BadRequestException": (ConfigError, "check the catalog's properties"),
    _ICEBERG + "ServiceUnavailableException": (ServiceUnavailable, "the catalog is away; try again"),
    _ICEBERG + "ServiceFailureException": (ServiceUnavailable, "the catalog failed; try again"),
    _ICEBERG + "RESTException": (ServiceUnavailable, "the catalog does not answer; check that it runs"),
    "software.amazon.awssdk.services.s3.model.NoSuchKeyException": (
        TerminalError,
        "a file that the table names is gone from the object store",
    ),
    "software.amazon.awssdk.services.s3.model.S3Exception": (ServiceUnavailable, "the object store refused or failed"),
    "software.amazon.awssdk.core.exception.SdkClientException": (
        ServiceUnavailable,
        "the object store does not answer; check that it runs",
    ),
    "java.net.ConnectException": (ServiceUnavailable, "catalog or object store do not answer; check that they run"),
}
_MOST_CAUSES = 20


JVM_ERRORS = (Py4JJavaError, CapturedException)
"""Errors that PySpark raises for an exception of the JVM."""


def frazil_error(error: Exception, what: str) -> FrazilError:
    """The error in our tree; `what` says what was asked for when the JVM raised it."""
    causes = _causes(java_exception(error))
    for kind, (cls, advice) in _KINDS.items():
        for classes, message in causes:
            if kind in classes:
                return cls(f"{what}: {advice} ({_first_line(message)})")
    classes, message = causes[-1]
    return TerminalError(f"{what} failed: {classes[0].rpartition('.')[2]}: {_first_line(message)}")


def java_exception(error: Exception) -> Any:
    """The exception itself, of one of JVM_ERRORS."""
    raised: Any = error
    return raised.java_exception if isinstance(error, Py4JJavaError) else raised._origin  # noqa: SLF001


def _causes(exception: Any) -> list[tuple[list[str], str]]:
    """The exception and what caused it: each as its class with those above it, and its message."""
    found: list[tuple[list[str], str]] = []
    while exception is not None and len(found) < _MOST_CAUSES:
        found.append((_classes(exception), str(exception.getMessage() or "")))
        exception = exception.getCause()
    return found


def _classes(exception: Any) -> list[str]:
    names = []
    cls = exception.getClass()
    while cls is not None:
        names.append(str(cls.getName()))
        cls = cls.getSuperclass()
    return names


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no message")
