"""The rows of a statement as objects, or as files of a Delta table, exactly once as those of the object sink.

A task has all rows of its Kafka partitions, in order: it divides them as records are, those of one record together.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from frazil.clients.kafka.ranges import Range
from frazil.connectors.backfill import Span
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.records import Schema
from frazil.connectors.objects.results import ObjectsResult, PartitionResult
from frazil.connectors.objects.sink_task import ObjectSinkTask, Store, Table
from frazil.connectors.objects.stored_positions import StoredPositions
from frazil.connectors.objects.task import ObjectsSpec, run
from frazil.connectors.sink import Due, SinkContext
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import InOrder, Scanned, scanned_topics
from frazil.connectors.sql.statement import PLACE
from frazil.connectors.sql.write import offsets_of, places_of_rows, typed_structs
from frazil.errors import TerminalError
from frazil.pipeline.bookings import dead_letter
from frazil.pipeline.computed import json_rows
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.letters.deadletter import DeadLetter, DeadLetterQueue
from frazil.pipeline.offsets import TopicPartition
from frazil.pipeline.report import BatchReport
from frazil.pipeline.rows import Int64s, Rows
from frazil.pipeline.source import Source

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class StoreRows:
    """Stores rows of a statement over `topics`; picklable."""

    spec: ObjectsSpec
    topics: Sequence[str]

    def __call__(self, rows: pa.Table) -> tuple[ObjectsResult, Mapping[TopicPartition, Int64s]]:
        """Give the result, and the offsets of the records that gave a row, each once."""
        places = places_of_rows(rows)
        struct, typed = typed_structs(rows.drop_columns([PLACE]))
        order = np.lexsort((places.offsets, places.partitions, places.topics))
        texts = json_rows(struct.take(pa.array(order)), typed)
        keys = np.stack((places.topics[order], places.partitions[order]))
        cuts = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
        chunks = [
            Rows(
                self.topics[int(keys[0, begin])],
                int(keys[1, begin]),
                places.offsets[order[begin:end]],
                places.stamps[order[begin:end]],
                texts[begin:end],
                [None] * (end - begin),
            )
            for begin, end in pairwise([0, *cuts.tolist(), len(order)])
        ]
        result = run(chunks, replace(self.spec, schema=Schema(b"", typed, type=typed)))
        return result, offsets_of(((each.topic, each.partition), each.offsets) for each in chunks)


class SqlObjectTask(ObjectSinkTask):
    """Stores the rows that a statement makes of records; see `SinkTask`."""

    def __init__(
        self,
        own: StatementConfig,
        config: ObjectSinkConfig,
        bootstrap: str,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        store: Store,
        stored: StoredPositions,
        context: SinkContext,
        table: Table | None = None,
        span: Span | None = None,
    ) -> None:
        """Raises UsageError without Spark, ConfigError for a statement that it refuses; and as `ObjectSinkTask`."""
        self._sql = StatementRuns(own, scanned_topics(config, own), context.executor, list[pa.Table])
        super().__init__(
            config, bootstrap, topics, source, dead_letters, store, stored, context, table=table, span=span
        )

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        self._sql.begin()
        super().step(due, committed)

    def read(self, spec: ObjectsSpec, ranges: Sequence[Range], shares: Sequence[Sequence[Range]]) -> ObjectsResult:
        self._sql.refuse({(*key, at): ("", why) for key, found in spec.refused.items() for at, why in found.items()})
        written = frozenset((*key, at) for key, found in spec.letters.items() for at in found)
        rule = InOrder(written, tolerant=spec.config.errors_tolerance == "all")
        scanned, stored = self._sql.compute(lambda names: StoreRows(spec, names), self._source, shares, rule)
        result = ObjectsResult()
        records: dict[TopicPartition, Int64s] = {}
        for own, gave in stored:
            if records.keys() & gave.keys():
                raise TerminalError(
                    f"Spark has divided the rows of one partition of connector {spec.config.name} among tasks, which "
                    "objects cannot be made of. Write them to an Iceberg table"
                )
            result.add(own)
            records |= gave
        for key, end in spec.end.items():
            part = result.partitions.setdefault(key, PartitionResult(end))
            self._settle(key, part, scanned, records.get(key, _NONE), rule)
        return result

    def _settle(
        self, key: TopicPartition, part: PartitionResult, scanned: Sequence[Scanned], gave: Int64s, rule: InOrder
    ) -> None:
        """Add what became of the records of a partition before the statement, and of those that gave no row."""
        own = [each for each in scanned if key in each.offsets or key in each.stopped]
        read = np.concatenate([_NONE, *(some for each in own for some in each.offsets.get(key, ()))])
        dead = [letter for each in own for letter in each.result.dead if letter.coordinates[:2] == key]
        part.position = min([part.position, *(each.stopped[key] for each in own if key in each.stopped)])
        part.overflow = part.overflow or any(each.result.overflow and key in each.stopped for each in own)
        part.letters = self._originals(key, part.letters)
        if part.bad is not None:
            (part.bad,) = self._originals(key, [part.bad])
        if rule.tolerant:
            part.letters += dead
        elif part.bad is None and dead:
            part.bad = dead[0]
        gone = {letter.offset for letter in dead} | {at for *of, at in rule.written if (*of,) == key}
        below = read[read < part.position]
        lost = int(np.isin(below, list(gone)).sum()) if rule.tolerant else 0
        with_rows = int((gave < part.position).sum())
        part.surplus = part.stored.total() + part.dead.total() - with_rows
        part.dead[key[0]] += lost
        part.skipped["statement"] += len(below) - lost - with_rows

    def _originals(self, key: TopicPartition, letters: Sequence[DeadLetter]) -> list[DeadLetter]:
        """Dead letters of rows as those of the records that they are from."""
        if not letters:
            return []
        reasons = {letter.offset: ConversionError(letter.path, letter.reason) for letter in letters}
        with closing(self._source.read([Range(*key, min(reasons), max(reasons) + 1)])) as chunks:
            return [
                dead_letter(rows, index, reasons[at])
                for rows in chunks
                for index, at in enumerate(rows.offsets.tolist())
                if at in reasons
            ]
