"""Chunks of records of one Kafka partition in columns, in the order of their offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from confluent_kafka import Message

from frazil.clients.kafka.headers import Headers, all_headers

Int64s = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Rows:
    """A chunk of records of one partition, in columns with one entry per record.

    `stamps` are Kafka's timestamps in epoch ms, negative where there is none. `values`, `keys` and `headers` are as
    Kafka has them; `headers` is None when nobody asked for them.
    """

    topic: str
    partition: int
    offsets: Int64s
    stamps: Int64s
    values: Sequence[bytes | None]
    keys: Sequence[bytes | None]
    headers: Sequence[Headers] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size(self) -> int:
        """Bytes of all values."""
        return sum(map(len, filter(None, self.values)))

    @property
    def named(self) -> Sequence[Headers]:
        """The headers, none where nobody asked for them."""
        return [()] * len(self) if self.headers is None else self.headers

    def where(self, mask: np.ndarray[Any, np.dtype[np.bool_]]) -> Rows:
        """Keep some of the records, in the same order."""
        return self if mask.all() else self.take(np.flatnonzero(mask).tolist())

    def between(self, begin: int, end: int | None) -> Rows:
        """Keep the records from offset `begin` to below `end`, if that is given."""
        above = self.offsets >= begin
        return self.where(above if end is None else above & (self.offsets < end))

    def take(self, indexes: Sequence[int]) -> Rows:
        """Take the records at these indexes."""
        return replace(
            self,
            offsets=self.offsets[indexes],
            stamps=self.stamps[indexes],
            values=[self.values[i] for i in indexes],
            keys=[self.keys[i] for i in indexes],
            headers=None if self.headers is None else [self.headers[i] for i in indexes],
        )


def rows_of(messages: Sequence[Message], *, headers: bool = True) -> Rows:
    """Make a chunk from messages of one partition, at least one."""
    return Rows(
        messages[0].topic() or "",
        messages[0].partition() or 0,
        np.fromiter(map(Message.offset, messages), np.int64, len(messages)),
        np.fromiter(map(itemgetter(1), map(Message.timestamp, messages)), np.int64, len(messages)),
        list(map(Message.value, messages)),
        list(map(Message.key, messages)),
        all_headers(messages) if headers else None,
    )


def by_partition(messages: Sequence[Message]) -> Iterator[Rows]:
    """Make chunks from messages as they come: those of one partition that follow each other are one."""
    for _, several in groupby(messages, key=lambda message: (message.topic(), message.partition())):
        yield rows_of(list(several))
