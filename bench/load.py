"""Puts records into topics: at once for a backlog, or at a steady rate."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Literal

from bench.environment import Show
from frazil.clients.kafka.produce import RecordProducer
from frazil.clients.kafka.topics import ensure_topics
from frazil.environment.settings import Settings
from frazil.errors import TerminalError
from frazil.minio.generators.generate import records
from frazil.minio.records.kinds import TableKind

PARTITIONS = 3
SEED = 20260101
# A fixed morning, so that every run has the same bytes and its records lie in one day.
_START = datetime(2026, 1, 1, 6, tzinfo=UTC)

Details = Literal["text", "object"]
_DETAILS: dict[Details, bytes] = {"text": b'"details":"', "object": b'"details":{'}
_STATUS = re.compile(rb'"httpStatusCode":(\d+)')
_BUCKET = re.compile(rb'"bucket":"[^"]*"')
_CHUNKS_PER_SECOND = 50


def fixed_records(kind: TableKind, count: int) -> Iterator[bytes]:
    """The records that every system gets: the same bytes in every run."""
    return records(kind, count, SEED, start=_START)


def short_records(count: int) -> Iterator[bytes]:
    """API records of 862 bytes on average: those that have 990 at most, seven of ten."""
    return islice((record for record in fixed_records("api", 2 * count + 1000) if len(record) <= 990), count)


def audit_records(count: int, details: Details) -> Iterator[bytes]:
    """At most `count` audit records whose `details` are all of one form; each form has a third of the generator's."""
    marker = _DETAILS[details]
    return islice((record for record in fixed_records("audit", 4 * count + 1000) if marker in record), count)


def careful_records(count: int) -> Iterator[bytes]:
    """API records none of which is plain: the status is a text, and its column wants a number."""
    return (_STATUS.sub(rb'"httpStatusCode":"\1"', record, count=1) for record in fixed_records("api", count))


def malformed_records(count: int, every: int) -> Iterator[bytes]:
    """API records of which each `every`th is cut in half, so that it is no JSON."""
    for number, record in enumerate(fixed_records("api", count), 1):
        yield record[: len(record) // 2] if number % every == 0 else record


def spread_records(count: int, buckets: int) -> Iterator[bytes]:
    """API records of so many buckets, in turns."""
    for number, record in enumerate(fixed_records("api", count)):
        yield _BUCKET.sub(b'"bucket":"bucket-%03d"' % (number % buckets), record, count=1)


def create_topic(settings: Settings, topic: str, partitions: int = PARTITIONS) -> None:
    """Create a topic that no run before this one has used. Raises TerminalError when it exists."""
    if not ensure_topics(settings.bootstrap_servers, {topic: (partitions, {})})[topic]:
        raise TerminalError(f"topic {topic} exists already; figures need a fresh one, nothing was measured")


def fill(settings: Settings, topic: str, values: Iterable[bytes], count: int, show: Show) -> None:
    """Create a topic and produce `count` records into it. Raises TerminalError when the records are fewer."""
    create_topic(settings, topic)
    with RecordProducer(settings.bootstrap_servers) as producer:
        acknowledged = producer.send(
            topic, values, count, lambda done: show(f"producing to {topic}: {done:,} of {count:,} records")
        )
    if acknowledged != count:
        raise TerminalError(f"{topic} has {acknowledged:,} records instead of {count:,}; nothing was measured")


class Pace:
    """Hands records out at a fixed rate, whatever the receiver does: a late record stays due at its time.

    Record `i` is due at `first + i / rate` (seconds since the epoch) and is handed out at most 20 ms after that, as
    far as the receiver takes it; `worst_delay` says how far it fell behind.
    """

    def __init__(self, first: float, rate: int) -> None:
        self.first = first
        self.rate = rate
        self.worst_delay = 0.0
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Hand out nothing more."""
        self._stopped.set()

    def __call__(self, values: Iterable[bytes]) -> Iterator[bytes]:
        chunk = max(1, self.rate // _CHUNKS_PER_SECOND)
        for index, value in enumerate(values):
            if index % chunk == 0:
                due = self.first + (index + chunk) / self.rate  # the last of the chunk: none is handed out early
                if self._stopped.wait(max(0.0, due - time.time())):
                    return
                self.worst_delay = max(self.worst_delay, time.time() - due)
            yield value
