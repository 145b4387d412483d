"""Records of one Kafka partition, as object sinks divide and write them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from frazil.connectors.objects.rotation import Flags, Numbers
from frazil.pipeline.schemas.connect import ConnectSchema
from frazil.pipeline.types import Struct, Type


@dataclass(frozen=True)
class Schema:
    """The schema of values or keys that come with one. `text` is its JSON; two schemas are equal when these are.

    `struct` are its columns, None for another value than an object, and `type` is what it says of the values; `told` is
    what is known of it as Connect has it.
    """

    text: bytes
    struct: Struct | None
    name: str | None = None
    version: int | None = None
    type: Type | None = None
    told: ConnectSchema | None = None


@dataclass(frozen=True)
class Records:
    """Consecutive records of a Kafka partition; all columns have one entry per record.

    `offsets` ascend. `stamps` are Kafka's timestamps in epoch ms, negative where there is none. `texts` are what the
    format writes for each record, null for one without a value. `sizes` are the bytes of the values as they were read.
    `topics` are those that transformations gave the records; None when it is the topic that was read. `schemas` are
    indexes into a list of the task, -1 for none; None when no record has one; `key_schemas` are those of the keys.
    `keys` and `headers` are None unless they are stored.
    """

    topic: str
    partition: int
    offsets: Numbers
    stamps: Numbers
    texts: pa.BinaryArray
    sizes: Numbers
    topics: tuple[str, ...] | None = None
    schemas: Numbers | None = None
    keys: pa.BinaryArray | None = None
    headers: pa.BinaryArray | None = None
    key_schemas: Numbers | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def where(self, mask: Flags) -> Records:
        """Select records by a mask, in the same order."""
        if mask.all():
            return self
        chosen = pa.array(mask)
        return replace(
            self,
            offsets=self.offsets[mask],
            stamps=self.stamps[mask],
            texts=self.texts.filter(chosen),
            sizes=self.sizes[mask],
            topics=None if self.topics is None else tuple(np.array(self.topics, dtype=object)[mask]),
            schemas=None if self.schemas is None else self.schemas[mask],
            keys=None if self.keys is None else self.keys.filter(chosen),
            headers=None if self.headers is None else self.headers.filter(chosen),
            key_schemas=None if self.key_schemas is None else self.key_schemas[mask],
        )

    @property
    def tombstones(self) -> Flags:
        """Flags of the records that have no value."""
        nulls: Any = self.texts.is_null()
        return np.asarray(nulls.to_numpy(zero_copy_only=False), np.bool_)
