"""Transformations of values that are columns: those that need no look at each record change all of them at once.

The result is that of the same transformations for each record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil.pipeline.types import Field, Struct, Type

if TYPE_CHECKING:  # a process that only reads configurations does without
    import pyarrow as pa

    from frazil.clients.kafka.headers import Headers
    from frazil.pipeline.rows import Rows
    from frazil.pipeline.values import Ints

Member: TypeAlias = "tuple[pa.Array, Type]"


@dataclass(frozen=True)
class Block:
    """Values of records with one schema, as the members of an object, and where in Kafka the records stand."""

    members: dict[str, Member]
    topics: Sequence[str]
    partition: int
    offsets: Ints
    stamps: Ints
    headers: Sequence[Headers]

    def __len__(self) -> int:
        return len(self.offsets)

    def having(self, members: dict[str, Member]) -> Block:
        """Give the records other members."""
        return replace(self, members=members)

    def sent_to(self, topics: Sequence[str]) -> Block:
        """Give the records other topics."""
        return replace(self, topics=topics)

    def constant(self, value: Any, type_: pa.DataType) -> pa.Array:
        """Make an array of a value that is the same in all records."""
        import pyarrow as pa

        return pa.repeat(pa.scalar(value, type_), len(self))

    def struct(self) -> pa.StructArray:
        """Put the members into one array."""
        import pyarrow as pa

        names, arrays = list(self.members), [array for array, _ in self.members.values()]
        return pa.StructArray.from_arrays(arrays, names)

    @property
    def shape(self) -> Struct:
        """Types of the members."""
        return Struct(tuple(Field(name, type_) for name, (_, type_) in self.members.items()))


def block_of(rows: Rows, at: Ints, members: dict[str, Member], topics: Sequence[str] | None = None) -> Block:
    """Put members beside the places in Kafka of the records with these numbers; without `topics` it is that of all."""
    headers = [()] * len(at) if rows.headers is None else [rows.headers[place] for place in at.tolist()]
    return Block(members, topics or [rows.topic] * len(at), rows.partition, rows.offsets[at], rows.stamps[at], headers)


ApplyToBlock: TypeAlias = Callable[[Block], Block | None]
"""Changes values at once; None where each record has to be looked at."""


TestBlock: TypeAlias = Callable[[Block], bool | None]
"""Asks for all records at once; None where they are not all alike."""


def changed(block: Block, steps: Sequence[ApplyToBlock]) -> Block | None:
    """Change values by one step after the other; None where each record has to be looked at."""
    for apply in steps:
        after = apply(block)
        if after is None:
            return None
        block = after
    return block


def one_by_one(block: Block) -> None:
    """Say that each record has to be looked at."""


def same(block: Block) -> Block:
    """Leave values as they are."""
    return block


def members_of(array: pa.StructArray, shape: Struct) -> dict[str, Member]:
    """List the members of objects, none of which is null."""
    return {field.name: (array.field(number), field.type) for number, field in enumerate(shape.fields)}


def without(block: Block, names: Sequence[str]) -> Block:
    """Leave members out."""
    return block.having({name: member for name, member in block.members.items() if name not in names})
