"""Results of a comparison of a topic with what is stored of it, and digests of records."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import pyarrow as pa

_MASK = (1 << 64) - 1


def digest(text: bytes) -> int:
    """64 bits of a record's bytes; those of many records are added, so that their order does not matter."""
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def row_digests(
    rows: pa.Table | pa.RecordBatch, columns: Sequence[str], empty_is_null: Collection[str] = ()
) -> Iterator[int]:
    """Digests of the rows: of the values of these columns, null where the rows have no such column."""
    present = set(rows.schema.names)
    values = [rows.column(name).to_pylist() if name in present else [None] * rows.num_rows for name in columns]
    for place, name in enumerate(columns):
        if name in empty_is_null:
            values[place] = [None if value == "" else value for value in values[place]]
    for row in zip(*values, strict=True):
        yield digest(repr(row).encode())


@dataclass
class Sum:
    """A checksum of records in any order."""

    value: int = 0

    def add(self, one: int) -> None:
        """Count the digest of one more record in."""
        self.value = (self.value + one) & _MASK

    def __str__(self) -> str:
        return f"{self.value:016x}"


@dataclass
class RangeCheck:
    """Findings for a Kafka partition from `begin` to below `end`, or, where rows do not tell theirs, for whole topics.

    `partition` is None then. `read` records are `expected` in the store, `dead` letters, or `skipped`; the expected are
    `stored` or `missing`. `missing` and `doubled` are offsets; `foreign` counts stored records that are no record
    of the topic, `unknown` those that lie outside of the range. The checksums are None where only counts can be
    compared.
    """

    target: str
    topic: str
    partition: int | None
    begin: int
    end: int
    read: int = 0
    dead: int = 0
    skipped: int = 0
    expected: int = 0
    stored: int = 0
    missing: list[int] = field(default_factory=list)
    doubled: list[int] = field(default_factory=list)
    foreign: int = 0
    unknown: int = 0
    expected_sum: str | None = None
    stored_sum: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Topic and partition, or the topics."""
        return self.topic if self.partition is None else f"{self.topic}-{self.partition}"

    def refuse(self, offset: int, error: object) -> None:
        """Count a record that cannot be stored, and has no dead letter."""
        self.expected += 1
        self.missing.append(offset)
        if not self.notes:
            self.notes.append(f"offset {offset} cannot be stored ({error}), and there is no dead letter for it")

    @property
    def complete(self) -> bool:
        """Whether each record is stored exactly once, as it is in the topic."""
        return not self.missing and not self.doubled and not self.foreign
