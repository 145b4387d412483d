"""Backfill of a connector: a span of its topics as one batch, beside its position."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka.ranges import Range
from frazil.connectors.keys.sink_config import SinkConfig
from frazil.pipeline import offsets
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.letter import BETWEEN
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport, Totals
from frazil.pipeline.source import ranges_between
from frazil.text.amounts import counted

RECORDS_PER_TASK = 100_000
"""Records that a task has in memory."""


def digest_of(*parts: str) -> str:
    """Shorten what a backfill is about, as its statement and its span, to a part of a name."""
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Span:
    """Records of partitions from `begin` to before `end`."""

    begin: Offsets
    end: Offsets

    @property
    def ranges(self) -> list[Range]:
        """The records by partitions."""
        return ranges_between(self.begin, self.end)

    def name_of(self, *parts: str) -> str:
        """Name what a backfill of the span adds to names of its connector; `parts` tell what it is about."""
        return f"{BETWEEN}{digest_of(*parts, offsets.to_json(self.begin), offsets.to_json(self.end))}"

    def is_before(self, position: Offsets) -> bool:
        """Tell whether a position is behind all of the records."""
        return all(position.get(key, self.begin[key]) >= end for key, end in self.end.items())

    def common(self, begin: Offsets, end: Offsets, told: str) -> list[str]:
        """Tell how many of the records another span has too, if any; it begins at 0 where nothing is said."""
        parts = (min(at, end.get(key, 0)) - max(self.begin[key], begin.get(key, 0)) for key, at in self.end.items())
        found = sum(max(0, part) for part in parts)
        return [f"{counted(found, 'record')} of them {'is' if found == 1 else 'are'} {told}"] if found else []


@dataclass(frozen=True)
class Backfill:
    """A span of the topics of a connector; `run` stores its rows: of a table all or none of them, of others what is
    missing.

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


def span_of(
    config: SinkConfig, bootstrap: str, topics: Sequence[str], since_ms: int | None, until_ms: int | None
) -> Span:
    """Give the records between two of Kafka's times in epoch ms, where a topic begins and ends without them.

    From a partition's first record that is as new as the one, to before its first that is as new as the other. Raises
    NotFound or ServiceUnavailable.
    """
    first = kafka_offsets.begin_offsets(bootstrap, topics)
    last = kafka_offsets.end_offsets(bootstrap, topics, committed=config.reads_committed)

    def at(time_ms: int | None, otherwise: Offsets) -> Offsets:
        if time_ms is None:
            return otherwise
        found = kafka_offsets.offsets_since(bootstrap, topics, time_ms)
        return {key: min(found.get(key, end), end) for key, end in last.items()}

    begin, end = at(since_ms, first), at(until_ms, last)
    return Span(begin, {key: max(offset, begin[key]) for key, offset in end.items()})
