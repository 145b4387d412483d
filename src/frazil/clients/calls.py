"""Measures how long the services that are asked over HTTP take, and how many calls fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from prometheus_client import Histogram

Service = Literal["catalog", "registry", "store"]

_BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
CALLS = Histogram(
    "frazil_call_duration_seconds",
    "Calls of the worker and its tasks to the catalog, the schema registry and the object store, retries one by one; "
    "failed are those without an answer, and with one that says that the service is at fault or refuses the login",
    ["service", "result"],
    buckets=_BUCKETS,
    registry=None,
)
_REFUSED = (401, 403, 429)


@dataclass(frozen=True)
class Answered:
    """Outcome of a call, with its duration."""

    service: Service
    result: Literal["done", "failed"]
    seconds: float

    def count(self) -> None:
        """Add it to the calls of this process."""
        CALLS.labels(self.service, self.result).observe(self.seconds)


class Call:
    """One call, whose answer is noted by its HTTP status."""

    failed = False

    def answered(self, status: int) -> None:
        """Note the answer."""
        self.failed = status >= 500 or status in _REFUSED


_listeners: list[Callable[[Answered], None]] = []


@contextmanager
def timed(service: Service) -> Iterator[Call]:
    """Time a call; one that raises has failed."""
    call, begun = Call(), time.perf_counter()
    try:
        yield call
    except BaseException:
        call.failed = True
        raise
    finally:
        answered = Answered(service, "failed" if call.failed else "done", time.perf_counter() - begun)
        answered.count()
        for listener in _listeners:
            listener(answered)


@contextmanager
def listening(listener: Callable[[Answered], None]) -> Iterator[None]:
    """Tell each call of this process meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
