"""The values of a chunk of records between Kafka and the decoder of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from frazil.pipeline.convert.decode import Decoded
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.types import Struct


class Decoder(Protocol):
    """Turns the values of consecutive records into rows."""

    def decode(self, rows: Sequence[bytes | None]) -> Decoded:
        """Decode values to rows; the result says what became of the others."""


@dataclass(frozen=True)
class Values:
    """Values of a chunk, in the order of their records.

    `at` are their positions in the rows that they are from; None when it is all of them. `topics` are those that
    transformations gave the records; None when it is those that were read. `shapes` say what the values are, as far as
    the schemas of the records, or transformations, tell more than their JSON text.
    """

    values: Sequence[bytes | None]
    at: Sequence[int] | None = None
    topics: Sequence[str] | None = None
    shapes: Sequence[Struct | None] | None = None

    def position(self, index: int) -> int:
        """Give the position in the rows of the record that a value is from."""
        return index if self.at is None else self.at[index]

    def only(self, indexes: Sequence[int]) -> Values:
        """Keep some of the values, given in ascending order."""
        if len(indexes) == len(self.values):
            return self
        return replace(
            self,
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


@dataclass(frozen=True)
class Prepared:
    """Values of the records that are left; positions of the dropped ones, and of the failed ones with their errors."""

    values: Values
    dropped: Sequence[int] = ()
    failed: Sequence[tuple[int, ConversionError]] = ()
