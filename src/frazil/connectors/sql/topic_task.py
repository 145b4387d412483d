"""The rows of a statement as records of a topic, each once: rows and position are one transaction of Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from confluent_kafka import TopicPartition as KafkaPosition

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.dead_letters import leaving_out
from frazil.connectors.positions import check_range
from frazil.connectors.sink import CommitInterval, Due, SinkContext, SinkTask
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import InOrder, Scanned, scanned_topics
from frazil.connectors.sql.statement import PLACE
from frazil.connectors.sql.topic_config import TopicSinkConfig
from frazil.connectors.sql.transactions import Produced, Transactions
from frazil.connectors.sql.write import places_of_rows, typed_structs
from frazil.errors import BadRecord, ConfigError, PartitionsAdded
from frazil.pipeline.computed import Places, json_rows
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.letters.deadletter import Coordinates, DeadLetterQueue
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import TableResult
from frazil.pipeline.source import Source, dealt, ranges_between

_MOST_RECORDS = 100_000


@dataclass(frozen=True)
class Made:
    """Keys and values of the records that a task has made of rows, with the places of those that the rows are from."""

    keys: Sequence[bytes | None]
    values: Sequence[bytes]
    places: Places


@dataclass(frozen=True)
class MakeRecords:
    """Makes records of the rows of a statement, as JSON; picklable."""

    key_columns: tuple[str, ...]

    def __call__(self, rows: pa.Table) -> Made:
        values = json_rows(*typed_structs(rows.drop_columns([PLACE])))
        keys = (
            json_rows(*typed_structs(rows.select(list(self.key_columns)))) if self.key_columns else [None] * len(values)
        )
        return Made(keys, values, places_of_rows(rows))


class SqlTopicTask(SinkTask):
    """Sends the rows that a statement makes of records to a topic; see `SinkTask`."""

    def __init__(
        self,
        own: StatementConfig,
        config: TopicSinkConfig,
        bootstrap: str,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        context: SinkContext,
        begin: Offsets | None = None,
    ) -> None:
        """Begins at `begin`, where that is given and nothing of its group is behind that. Raises UsageError without
        Spark, ConfigError for a statement that it refuses, NotFound without the topic, PositionLost or
        ServiceUnavailable."""
        largest = int(kafka_topics.topic_settings(bootstrap, config.topic)["max.message.bytes"])
        self._config, self._source, self._executor = config, source, context.executor
        self._runs = StatementRuns(own, scanned_topics(config, own), context.executor, list[pa.Table])
        names = {field.name for field in self._runs.columns.fields}
        lacks = [name for name in config.key_columns if name not in names]
        if lacks:
            raise ConfigError(
                f"frazil.sql.topic.key names {lacks[0]}, and the statement has {', '.join(sorted(names))}"
            )
        self._transactions = Transactions(bootstrap, config.name, config.group_id, config.topic, largest)
        stands = TopicPosition.load(config, bootstrap, topics, begin)
        self._offsets = stands.offsets
        self._letters = LetterBook(dead_letters, bootstrap, config.name)
        self._letters.start(topics, stands.committed_ms, self._offsets)
        self._interval = CommitInterval(0 if context.at_once else config.interval_ms, _MOST_RECORDS)

    @property
    def position(self) -> Offsets:
        return dict(self._offsets)

    def due(self, ends: Offsets, now_ms: int) -> Due:
        more = ends.keys() - self._offsets.keys()
        if more:
            raise PartitionsAdded(f"topic {min(more)[0]} has more partitions")
        return self._interval.due(self._offsets, ends, now_ms)

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        self._interval.began()
        self._runs.begin()
        ranges = ranges_between(self._offsets, due.ends)
        if not ranges:
            return
        began, shares = time.monotonic(), dealt(ranges, self._executor.parallelism)
        rule = InOrder(frozenset(), tolerant=self._letters.tolerant)
        while True:
            scanned, made = self._runs.compute(
                lambda names: MakeRecords(self._config.key_columns), self._source, shares, rule
            )
            records, places = self._in_order(made)
            dead = [letter for each in scanned for letter in each.result.dead]
            if self._letters.tolerant:
                self._letters.write(dead)
            reached = dict(due.ends)
            for each in scanned:
                reached |= {key: min(at, reached[key]) for key, at in each.stopped.items()}
            computed = time.monotonic()
            large = self._transactions.commit(records, committing(reached, round(time.time() * 1000)))
            if not large:
                break
            why = f"a row of it is larger than topic {self._config.topic} takes (max.message.bytes)"
            self._runs.refuse({places[number]: ("", why) for number in large})
        refusals = {letter.refusal for letter in dead}
        self._letters.close_stored("", refusals, self._offsets, reached)
        self._offsets = reached
        self._letters.forget(reached)
        now = time.monotonic()
        report = self._report(scanned, records, len(set(places)), now - began, now - computed)
        self._interval.measured(report.read, sum(each.size for each in scanned))
        committed(report)
        if dead and not self._letters.tolerant:
            first = min(dead, key=lambda letter: letter.offset)
            raise BadRecord(
                f"a record cannot be stored: {first}. The rows of the records before it are in the topic, the position "
                "is behind them. With errors.tolerance=all it becomes a dead letter. "
                f"{leaving_out([first], self._config.name)}"
            )

    def _in_order(self, made: Sequence[Made]) -> tuple[list[Produced], list[Coordinates]]:
        """Put the records in the order of those that they are from; also the places of these."""
        if not made:
            return [], []
        columns = ("topics", "partitions", "offsets", "stamps")
        topics, partitions, offsets, stamps = (
            np.concatenate([getattr(each.places, column) for each in made]) for column in columns
        )
        keys, values = [key for each in made for key in each.keys], [value for each in made for value in each.values]
        order = np.lexsort((offsets, partitions, topics)).tolist()
        names = self._runs.names
        return (
            [Produced(keys[n], values[n], int(stamps[n])) for n in order],
            [(names[int(topics[n])], int(partitions[n]), int(offsets[n])) for n in order],
        )

    def _report(
        self, scanned: Sequence[Scanned], records: Sequence[Produced], gave: int, duration_s: float, commit_s: float
    ) -> BatchReport:
        own = TableResult()
        for each in scanned:
            own.add(each.result)
        own.skipped["statement"] += sum(each.given for each in scanned) - gave
        dead = len(own.dead) if self._letters.tolerant else 0
        skipped = own.skipped.total()
        return BatchReport(
            self._config.name,
            gave + dead + skipped,
            len(records),
            dead,
            skipped,
            1,
            sum(len(record.value) for record in records),
            duration_s,
            commit_s,
            commit_s,
            skipped_by_reason=dict(own.skipped),
            end_offsets=self.position,
            places=(f"topic {self._config.topic}",),
            nouns=("row", "transaction"),
        )


@dataclass(frozen=True)
class TopicPosition:
    """Next offsets of a connector, and when they were committed last, in epoch ms; 0 where that is not known."""

    offsets: Offsets
    committed_ms: int

    @classmethod
    def load(
        cls, config: TopicSinkConfig, bootstrap: str, topics: Sequence[str], start: Offsets | None = None
    ) -> TopicPosition:
        """Take what the group has committed, and `start` where it has nothing.

        Raises PositionLost, NotFound or ServiceUnavailable.
        """
        begin, end = kafka_offsets.begin_offsets(bootstrap, topics), kafka_offsets.end_offsets(bootstrap, topics)
        known = kafka_groups.group_offsets(bootstrap, config.group_id, begin)
        texts = kafka_groups.group_metadata(bootstrap, config.group_id, begin).values()
        read_before = {topic for topic, _ in known}
        found: Offsets = {}
        for key in begin:
            first = begin if config.auto_offset_reset == "earliest" or key[0] in read_before else end
            found[key] = known.get(key, (start or first)[key])
            check_range(key, found[key], begin[key], end[key], f"consumer group {config.group_id}")
        times = [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 16]
        return cls(found, max(times, default=0))


def committing(offsets: Offsets, now_ms: int) -> list[KafkaPosition]:
    """Give offsets as a transaction takes them, with the time beside them."""
    return [KafkaPosition(topic, number, at, str(now_ms)) for (topic, number), at in offsets.items()]
