"""The values of a chunk of records between Kafka and the decoder of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from frazil.pipeline.convert import infer
from frazil.pipeline.convert.decode import Decoded
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.types import Struct, Type, Typed


class Decoder(Protocol):
    """Turns the values of consecutive records into rows."""

    def decode(self, rows: Sequence[bytes | None]) -> Decoded:
        """Decode values to rows; the result says what became of the others."""


@dataclass(frozen=True)
class Values:
    """Values of a chunk, in the order of their records.

    `at` are their positions in the rows that they are from; None when it is all of them. `topics` are those that
    transformations gave the records; None when it is those that were read. `typed` has members whose type their text
    does not show, by index in `values` and name. `shapes` are the columns that the records' schemas stand for, if they
    have schemas.
    """

    values: Sequence[bytes | None]
    at: Sequence[int] | None = None
    topics: Sequence[str] | None = None
    typed: Sequence[tuple[int, str, Typed]] = ()
    shapes: Sequence[Struct | None] | None = None

    def position(self, index: int) -> int:
        """Give the position in the rows of the record that a value is from."""
        return index if self.at is None else self.at[index]

    def only(self, indexes: Sequence[int]) -> Values:
        """Keep some of the values, given in ascending order."""
        if len(indexes) == len(self.values):
            return self
        typed: Sequence[tuple[int, str, Typed]] = ()
        if self.typed:
            new = {old: index for index, old in enumerate(indexes)}
            typed = [(new[old], name, value) for old, name, value in self.typed if old in new]
        return replace(
            self,
            values=[self.values[i] for i in indexes],
            at=indexes if self.at is None else [self.at[i] for i in indexes],
            topics=None if self.topics is None else [self.topics[i] for i in indexes],
            typed=typed,
            shapes=None if self.shapes is None else [self.shapes[i] for i in indexes],
        )

    def decode(self, records: Decoder) -> Decoded:
        """Decode the values for one table; the positions in the result are those in the rows."""
        decoded = records.decode(self.values)
        if self.at is not None:
            decoded.rejected = [(self.at[index], error) for index, error in decoded.rejected]
            decoded.skipped = [self.at[index] for index in decoded.skipped]
            decoded.positions = [self.at[index] for index in decoded.positions]
        if self.typed:
            _apply_types([(name, value) for _, name, value in self.typed], decoded.unknown)
        return decoded


@dataclass(frozen=True)
class Prepared:
    """Values of the records that are left; positions of the dropped ones, and of the failed ones with their errors."""

    values: Values
    dropped: Sequence[int] = ()
    failed: Sequence[tuple[int, ConversionError]] = ()


def _apply_types(typed: Sequence[tuple[str, Typed]], unknown: dict[infer.Path, Type]) -> None:
    """Give new columns the types of typed values, unless values of other types are for the same column."""
    types: dict[str, Type] = {}
    plain: dict[str, Type] = {}
    for name, value in typed if unknown else ():
        inferred = infer.infer(bytes(value.raw))
        if (name,) not in unknown or inferred is None:
            continue
        for found, type_ in ((types, value.type), (plain, inferred)):
            merged = infer.merge(found.get(name), type_)
            if merged is not None:
                found[name] = merged
    for name, type_ in types.items():
        if unknown[(name,)] == plain[name]:
            unknown[(name,)] = type_
