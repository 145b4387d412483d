"""The values of a chunk of records between Kafka and the decoder of a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa

from frazil.pipeline.convert.decode import Decoded
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.types import Struct, Type

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


class Decoder(Protocol):
    """Turns the values of consecutive records into rows."""

    def decode(self, rows: Sequence[bytes | None]) -> Decoded:
        """Decode values to rows; the result says what became of the others."""


@dataclass(frozen=True)
class Values:
    """Values of a chunk, in the order of their records.

    `at` are their positions in the rows that they are from; None when it is all of them. `topics` are those that
    transformations gave the records; None when it is those that were read. `shapes` say what the values are, as far as
    the schemas of the records, or transformations, tell more than their JSON text. `columns` are the values of other
    records of the chunk.
    """

    values: Sequence[bytes | None]
    at: Sequence[int] | None = None
    topics: Sequence[str] | None = None
    shapes: Sequence[Struct | None] | None = None
    columns: Sequence[Part] = ()

    def position(self, index: int) -> int:
        """Give the position in the rows of the record that a value is from."""
        return index if self.at is None else self.at[index]

    def positions(self) -> list[int]:
        """Give the positions in the rows of all records."""
        own = [self.position(index) for index in range(len(self.values))]
        return own + [position for columns in self.columns for position in columns.at.tolist()]

    def without(self, positions: Collection[int]) -> Values:
        """Leave out the records at positions in the rows."""
        if not positions:
            return self
        kept = [index for index in range(len(self.values)) if self.position(index) not in positions]
        gone = np.array(list(positions), np.int64)
        columns = [each.only(np.flatnonzero(~np.isin(each.at, gone))) for each in self.columns]
        return replace(self.only(kept), columns=columns)

    def only(self, indexes: Sequence[int]) -> Values:
        """Keep some of the values, given in ascending order, and none of the columns."""
        if len(indexes) == len(self.values):
            return replace(self, columns=()) if self.columns else self
        return replace(
            self,
            columns=(),
            values=[self.values[i] for i in indexes],
            at=indexes if self.at is None else [self.at[i] for i in indexes],
            topics=None if self.topics is None else [self.topics[i] for i in indexes],
            shapes=None if self.shapes is None else [self.shapes[i] for i in indexes],
        )

    def decode(self, records: Decoder) -> Decoded:
        """Decode the values for one table; the positions in the result are those in the rows."""
        decoded = records.decode(self.values)
        if self.at is not None:
            decoded.rejected = [(self.at[index], error) for index, error in decoded.rejected]
            decoded.skipped = [self.at[index] for index in decoded.skipped]
            decoded.positions = [self.at[index] for index in decoded.positions]
        return decoded

    def one_by_one(self) -> Prepared:
        """Take the values out of the columns; some may fail on the way."""
        if not self.columns:
            return Prepared(self)
        parts = [Prepared(self.only(range(len(self.values)))), *(each.one_by_one() for each in self.columns)]
        places = [part.values.position(index) for part in parts for index in range(len(part.values.values))]
        order = np.argsort(places, kind="stable").tolist()

        def merged(column: Sequence[Any]) -> list[Any]:
            return [column[index] for index in order]

        topics = shapes = None
        if any(part.values.topics is not None for part in parts):
            topics = merged([topic for part in parts for topic in part.values.topics or ()])
        if any(part.values.shapes is not None for part in parts):
            shapes = merged([s for p in parts for s in p.values.shapes or [None] * len(p.values.values)])
        values = merged([value for part in parts for value in part.values.values])
        return Prepared(
            Values(values, merged(places), topics, shapes),
            sorted(index for part in parts for index in part.dropped),
            sorted((one for part in parts for one in part.failed), key=lambda one: one[0]),
        )


@dataclass(frozen=True, kw_only=True)
class Part:
    """Values that are read at once; `at` are the positions in the rows that they are from.

    `topics` are those of `Values`. `read` gives the values of some rows, by their numbers, one by one.
    """

    at: Ints
    read: Callable[[Ints], Prepared]
    topics: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.at)

    def only(self, numbers: Ints) -> Self:
        """Keep some of the rows."""
        if len(numbers) == len(self):
            return self
        return replace(
            self,
            at=self.at[numbers],
            read=lambda some: self.read(numbers[some]),
            topics=None if self.topics is None else [self.topics[number] for number in numbers.tolist()],
        )

    def one_by_one(self) -> Prepared:
        """Give the values of all rows one by one."""
        return self.read(np.arange(len(self)))


@dataclass(frozen=True, kw_only=True)
class Columns(Part):
    """Values of records with one schema: `struct` has one row for each, `shape` says what the members are."""

    struct: pa.StructArray
    shape: Struct

    def only(self, numbers: Ints) -> Self:
        """Keep some of the rows."""
        kept = super().only(numbers)
        return kept if kept is self else replace(kept, struct=self.struct.take(pa.array(numbers)))


@dataclass(frozen=True)
class Prepared:
    """Values of the records that are left; positions of the dropped ones, and of the failed ones with their errors.

    `keys` are those of the values, where transformations give them: JSON, and the type where the text does not show it.
    """

    values: Values
    dropped: Sequence[int] = ()
    failed: Sequence[tuple[int, ConversionError]] = ()
    keys: Sequence[tuple[bytes | None, Type | None]] | None = None
