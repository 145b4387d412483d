"""Base of the comparisons of an object sink: which records of a topic are to be stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from frazil.connectors.checks.compare import Part, Progress
from frazil.connectors.checks.expected import Expected
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.prepare import Preparer
from frazil.connectors.objects.records import Records
from frazil.pipeline.rows import Rows


class Judged(ABC):
    """Takes records as the connector prepares them, into ranges by topic and Kafka partition.

    What was refused has a dead letter, so that the JSON Schema is left out: that of then may not be that of now.
    """

    def __init__(self, config: ObjectSinkConfig, target: str, part: Part) -> None:
        self._config, self._part = config, part
        self._preparer = Preparer(replace(config, json_schema=None))
        self._ranges = {key: Expected(RangeCheck(target, *key, part.begin[key], part.end[key])) for key in part.begin}

    def take(self, rows: Rows) -> None:
        """Take rows of one partition, in order."""
        expected = self._ranges[rows.topic, rows.partition]
        check = expected.check
        check.read += len(rows)
        rows, dead = self._part.divided(rows)
        check.dead += len(dead)
        if not len(rows):
            return
        prepared = self._preparer.prepare(rows, {})
        check.skipped += len(prepared.dropped) + len(prepared.tombstones)
        for offset, error in prepared.failed.items():
            check.refuse(offset, error)
        self._expect(expected, prepared.records)

    @abstractmethod
    def _expect(self, expected: Expected, records: Records) -> None:
        """Note records that are to be stored; one without a value among them is one to store the key of."""

    @abstractmethod
    def finish(self, progress: Progress) -> list[RangeCheck]:
        """Look at what is stored, once all records are taken."""
