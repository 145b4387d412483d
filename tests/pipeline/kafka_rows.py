"""Records of Kafka for tests of what tasks do with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from frazil.clients.kafka.headers import Headers
from frazil.pipeline.rows import Rows


@dataclass(frozen=True)
class Row:
    """A record of Kafka, by default in topic `t`; `stamp` in epoch ms."""

    offset: int
    value: bytes | None = b"{}"
    stamp: int = 0
    key: bytes | None = None
    headers: Headers = ()
    partition: int = 0
    topic: str = "t"


def chunks(rows: Iterable[Row]) -> list[Rows]:
    """Chunks of those that follow each other and are of one partition."""
    return [chunk(list(several)) for _, several in groupby(rows, key=lambda row: (row.topic, row.partition))]


def chunk(rows: Sequence[Row], *, headers: bool = True) -> Rows:
    """Rows of one partition, at least one."""
    return Rows(
        rows[0].topic,
        rows[0].partition,
        np.array([row.offset for row in rows], np.int64),
        np.array([row.stamp for row in rows], np.int64),
        [row.value for row in rows],
        [row.key for row in rows],
        [row.headers for row in rows] if headers else None,
    )
