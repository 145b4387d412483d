"""The ranges of a topic that are compared, and which of their records are to be stored."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from frazil.connectors.checks.expected import Expected
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.prepare import Preparer
from frazil.connectors.objects.records import Records
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.rows import Rows


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

    def take(self, rows: Rows) -> tuple[Expected, Records] | None:
        """Count rows of one partition, and give those that are to be stored as the connector prepares them.

        One without a value among them is one to store the key of. None when all rows are dead letters.
        """
        key = rows.topic, rows.partition
        expected = self.ranges[key]
        check = expected.check
        check.read += len(rows)
        lost = np.array([(*key, offset) in self._dead for offset in rows.offsets.tolist()], np.bool_)
        check.dead += int(lost.sum())
        rows = rows.where(~lost)
        if not len(rows):
            return None
        prepared = self.preparer.prepare(rows, {})
        check.skipped += len(prepared.dropped) + len(prepared.tombstones)
        for offset, error in prepared.failed.items():
            check.refuse(offset, error)
        return expected, prepared.records
