"""Records of a topic as typed rows, for programs with Spark."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from frazil.pipeline.offsets import Offsets


@dataclass(frozen=True)
class TypedRecords:
    """Records of a `topic` from `begin` to before `end`: `columns` in Spark's DDL, and what reads their rows, a task
    for each of `parts`.

    Parts are picklable, and read anew each time.
    """

    topic: str
    columns: str
    begin: Offsets
    end: Offsets
    parts: Sequence[Callable[[], Iterator[pa.RecordBatch]]]
