"""Rows that were computed from records, on their way to a table: columns, with the place of the record of each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from frazil.pipeline.rows import Rows
from frazil.pipeline.types import List, Map, Scalar, Struct, Type
from frazil.pipeline.values import Columns, Ints, Prepared, Values

_CHUNK = 20_000
_encode = msgspec.json.Encoder(decimal_format="number").encode
_Ready = Callable[[Any], Any]


@dataclass(frozen=True)
class Places:
    """Places of the records that rows are from, one entry each; `stamps` are epoch milliseconds."""

    topics: Ints
    partitions: Ints
    offsets: Ints
    stamps: Ints


@dataclass(frozen=True, eq=False)
class Computed:
    """Computed rows: `struct` has them as numbers, texts and bytes, `shape` says what these are.

    A chunk of them is `Rows` whose values are the numbers of rows in `struct`.
    """

    struct: pa.StructArray
    shape: Struct

    def chunks(self, places: Places, topics: Sequence[str]) -> Iterator[Rows]:
        """Divide the rows into chunks of one partition each, in the order of offsets."""
        order = np.lexsort((places.offsets, places.partitions, places.topics))
        groups = np.stack((places.topics[order], places.partitions[order]))
        cuts = [0, *(np.flatnonzero((groups[:, 1:] != groups[:, :-1]).any(axis=0)) + 1).tolist(), len(order)]
        for begin, end in zip(cuts, cuts[1:], strict=False):
            for start in range(begin, end, _CHUNK):
                part = order[start : min(start + _CHUNK, end)]
                yield Rows(
                    topics[int(places.topics[part[0]])],
                    int(places.partitions[part[0]]),
                    places.offsets[part],
                    places.stamps[part],
                    [b"%d" % number for number in part.tolist()],
                    [None] * len(part),
                )

    def prepared(self, rows: Rows) -> Prepared:
        """Give the values of a chunk, as columns."""
        numbers = np.array(rows.values, np.int64)
        struct = self.struct.take(pa.array(numbers))

        def read(some: Ints) -> Prepared:
            return Prepared(Values(self._texts(numbers[some]), some.tolist(), shapes=[self.shape] * len(some)))

        columns = Columns(struct=struct, shape=self.shape, at=np.arange(len(rows)), read=read)
        return Prepared(Values([], at=[], columns=[columns]))

    def _texts(self, numbers: Ints) -> list[bytes]:
        """Write rows as JSON, as records with schemas have them."""
        return json_rows(self.struct.take(pa.array(numbers)), self.shape)


def json_rows(struct: pa.Array, shape: Struct) -> list[bytes]:
    """Write rows as JSON; `shape` is theirs."""
    ready = _ready(shape) or (lambda row: row)
    return [_encode(ready(row)) for row in struct.to_pylist()]


def _ready(type_: Type) -> _Ready | None:
    """Make what a value needs before it is JSON; None where it is as it stands."""
    match type_:
        case Scalar(kind="float" | "double"):
            return lambda value: value if value is None or isfinite(value) else _NOT_FINITE[str(value)]
        case List(element):
            inner = _ready(element)
            return inner and (lambda value: value and [inner(each) for each in value])
        case Map(_, of):
            item = _ready(of) or (lambda value: value)
            return lambda value: None if value is None else {_key(key): item(each) for key, each in value}
        case Struct(fields):
            members = {field.name: _ready(field.type) for field in fields}
            changed = {name: ready for name, ready in members.items() if ready is not None}
            if not changed:
                return None
            return lambda value: value and value | {name: ready(value[name]) for name, ready in changed.items()}
        case _:
            return None


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _key(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
