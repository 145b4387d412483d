"""The ranges of a topic that are compared, and which of their records are to be stored."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from frazil.config.object_sink import ObjectSinkConfig
from frazil.pipeline.offsets import Offsets
from frazil.sinks.checks.expected import Expected
from frazil.sinks.checks.result import RangeCheck
from frazil.sinks.objects.prepare import Preparer
from frazil.sinks.objects.records import Records


class Judged:
    """Ranges by topic and partition; `dead` are the records that have dead letters.

    What was refused has a dead letter, so that the JSON Schema is left out: that of then may not be that of now.
    """

    def __init__(
        self,
        config: ObjectSinkConfig,
        target: str,
        begin: Offsets,
        end: Offsets,
        dead: Collection[tuple[str, int, int]],
    ) -> None:
        self._dead = frozenset(dead)
        self.preparer = Preparer(replace(config, json_schema=None))
        self.ranges = {key: Expected(RangeCheck(target, *key, begin[key], end[key])) for key in begin}

    def take(self, rows: pa.RecordBatch) -> tuple[Expected, Records] | None:
        """Count rows of one partition, and give those that are to be stored as the connector prepares them.

        One without a value among them is one to store the key of. None when all rows are dead letters.
        """
        key = rows.column("topic")[0].as_py(), rows.column("partition")[0].as_py()
        expected = self.ranges[key]
        check = expected.check
        check.read += rows.num_rows
        lost = [(*key, offset) in self._dead for offset in rows.column("offset").to_pylist()]
        check.dead += sum(lost)
        rows = rows.filter(pa.array([not one for one in lost]))
        if not rows.num_rows:
            return None
        prepared = self.preparer.prepare(rows, {})
        check.skipped += len(prepared.dropped) + len(prepared.tombstones)
        for offset, error in prepared.failed.items():
            check.refuse(offset, error)
        return expected, prepared.records
