"""Backfill of a connector: a span of its topics as one batch, beside its position."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka.ranges import Range
from frazil.pipeline.executor import Executor
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport, Totals

BETWEEN = ".backfill-"
"""Stands between the name of a connector and what tells a backfill from others, in the name of its position."""
RECORDS_PER_TASK = 100_000
"""Records that a task has in memory."""


def digest_of(*parts: str) -> str:
    """Shorten what a backfill is about, as its statement and its span, to a part of a name."""
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Backfill:
    """A span of the topics of a connector; `run` stores its rows, all or none of them.

    `position` is the name under which the `table`, or Kafka for a topic, keeps that they are there. `done`: they are
    there already. `remarks` say which rows would be there twice, or be replaced.
    """

    position: str
    table: str
    ranges: Sequence[Range]
    done: bool
    remarks: Sequence[str]
    run: Callable[[Executor], BatchReport | Totals]

    @property
    def records(self) -> int:
        """Number of records."""
        return sum(map(len, self.ranges))


def span_offsets(
    bootstrap: str, topics: Sequence[str], since_ms: int | None, until_ms: int | None, *, committed: bool
) -> tuple[Offsets, Offsets]:
    """Give the offsets between two of Kafka's times in epoch ms, where a topic begins and ends without them.

    From a partition's first record that is as new as the one, to before its first that is as new as the other. Raises
    NotFound or ServiceUnavailable.
    """
    first = kafka_offsets.begin_offsets(bootstrap, topics)
    last = kafka_offsets.end_offsets(bootstrap, topics, committed=committed)

    def at(time_ms: int | None, otherwise: Offsets) -> Offsets:
        if time_ms is None:
            return otherwise
        found = kafka_offsets.offsets_since(bootstrap, topics, time_ms)
        return {key: min(found.get(key, end), end) for key, end in last.items()}

    begin, end = at(since_ms, first), at(until_ms, last)
    return begin, {key: max(offset, begin[key]) for key, offset in end.items()}
