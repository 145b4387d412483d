"""Records of a topic as typed rows, for programs with Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class TypedRecords:
    """Records of a span of `topic`: `columns` in Spark's DDL, and what reads their rows, a task for each of `parts`.

    Parts are picklable, and read anew each time.
    """

    topic: str
    columns: str
    parts: Sequence[Callable[[], Iterator[pa.RecordBatch]]]
