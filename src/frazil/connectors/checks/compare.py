"""Compares the topics of a connector with what is stored of them: which records, and the way through them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka.ranges import read_ranges
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.dead_letters import queue_of
from frazil.connectors.keys.sink_config import SinkConfig
from frazil.connectors.source import topics_of
from frazil.pipeline.letters.deadletter import Coordinates
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.rows import Rows, rows_of

Progress = Callable[[str, int, int], None]
"""Callback: the thing looked at, and how many records of how many were read; 0 of 0 where none are counted."""


@dataclass(frozen=True)
class Limits:
    """The part of the topics that is looked at; None where there is no limit. `end` is behind the last offset."""

    partition: int | None = None
    begin: int | None = None
    end: int | None = None

    def cut(self, begin: Offsets, end: Offsets) -> tuple[Offsets, Offsets]:
        """The part of the ranges that was asked for; none ends before it begins."""
        keys = [key for key in end if self.partition in (None, key[1])]
        starts = {key: max(begin[key], self.begin or 0) for key in keys}
        ends = {key: end[key] if self.end is None else min(end[key], self.end) for key in keys}
        return starts, {key: max(ends[key], starts[key]) for key in keys}


@dataclass(frozen=True)
class Part:
    """The records that are compared: from `begin` to below `end` of each partition.

    `dead` are records that have, or had, a dead letter; `limits` is what was asked for.
    """

    begin: Offsets
    end: Offsets
    dead: frozenset[Coordinates] = frozenset()
    limits: Limits = Limits()

    @property
    def everything(self) -> bool:
        """Whether all stored records are of the part."""
        return self.limits == Limits() and not any(self.begin.values())

    def divided(self, rows: Rows) -> tuple[Rows, Rows]:
        """The rows without a dead letter, and those with one."""
        places = [(rows.topic, rows.partition, offset) for offset in rows.offsets.tolist()]
        dead = np.array([place in self.dead for place in places], np.bool_)
        return rows.where(~dead), rows.where(dead)


class Check(Protocol):
    """Compares a part with one kind of store; used once."""

    def take(self, rows: Rows) -> None:
        """Take records of one partition, in order."""

    def finish(self, progress: Progress) -> list[RangeCheck]:
        """Look at what is stored, once all records are taken. Raises ServiceUnavailable."""


def compare(
    config: SinkConfig,
    bootstrap: str,
    connector_class: str,
    limits: Limits,
    progress: Progress,
    *,
    position: Callable[[Offsets], Offsets],
    check: Callable[[Part], Check],
) -> list[RangeCheck]:
    """Compare a connector's records up to its stored position; nothing is written.

    `position` gets the first offset of each partition, and tells the next offsets as they are stored; nothing is stored
    of a partition without one. Raises NotComparable, NotFound, ServiceUnavailable.
    """
    topics = topics_of(config, bootstrap)
    first = kafka_offsets.begin_offsets(bootstrap, topics)
    reached = position(first)
    begin, end = limits.cut(first, {key: reached.get(key, at) for key, at in first.items()})
    queue = queue_of(config, bootstrap, connector_class)
    dead = () if queue is None else queue.written(topics)
    part = Part(begin, end, frozenset(refusal[:3] for refusal in dead), limits)
    comparison = check(part)
    done, total = 0, sum(end.values()) - sum(begin.values())
    for records in read_ranges(bootstrap, begin, end, committed=config.reads_committed):
        comparison.take(rows_of(records))
        done += len(records)
        progress("records", done, total)
    found = comparison.finish(progress)
    if limits.end is None:
        _note_waiting(found, end, kafka_offsets.end_offsets(bootstrap, topics))
    return found


def _note_waiting(checks: list[RangeCheck], reached: Offsets, newest: Offsets) -> None:
    """Say how many records lie behind the positions: they were not compared."""
    for one in checks:
        topics = one.topic.split(",")  # rows of a table are of all its topics
        keys = [key for key in reached if key[0] in topics and one.partition in (None, key[1])]
        waiting = sum(max(newest.get(key, 0) - reached[key], 0) for key in keys)
        if waiting:
            one.notes.append(f"{waiting:,} records of {one.place} are not stored yet, and were not compared")
