"""Rows of a statement in a topic, on real parts: each once, whatever ends a connector."""

from __future__ import annotations

import json
import os
import time
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as KafkaPosition
from pyspark.sql import SparkSession

import frazil
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.sql import topic_task
from frazil.connectors.sql.transactions import Produced, Transactions
from frazil.errors import BadRecord, ConfigError, Fenced, NotFound, UsageError
from frazil.stack.local import LocalStack

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the socket that DataFrame.collect reads to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
]


NOW = round(time.time() * 1000)


class Pipe:
    """Two topics, and the connector between them."""

    def __init__(self, stack: LocalStack, spark: SparkSession) -> None:
        self.settings, self.spark = stack.settings, spark
        self.name = f"t{uuid.uuid4().hex[:8]}"
        self.source, self.rows = f"{self.name}_in", f"{self.name}_out"
        self.servers = self.settings.bootstrap_servers
        kafka_topics.ensure_topics(self.servers, {self.source: (2, {}), self.rows: (2, {"max.message.bytes": "2000"})})

    def config(self, **more: str) -> dict[str, str]:
        """The configuration; `more` with `__` for dots."""
        return {
            "connector.class": "SqlSink",
            "topics": self.source,
            "frazil.sql.schema": "id BIGINT NOT NULL, items ARRAY<STRING>",
            "frazil.sql": f"SELECT id, explode(items) AS item, 10 / id AS part FROM {self.source}",  # noqa: S608
            "frazil.sql.topic": self.rows,
            "frazil.sql.topic.key": "id",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            **{key.replace("__", "."): value for key, value in more.items()},
        }

    def send(self, *records: Any) -> None:
        producer = Producer({"bootstrap.servers": self.servers})
        for number, record in enumerate(records):
            value = record if isinstance(record, bytes) else json.dumps(record).encode()
            producer.produce(self.source, value, partition=number % 2, timestamp=NOW + number)
        assert producer.flush(20) == 0

    def drain(self, **more: str) -> Any:
        return frazil.open(self.config(**more), self.name, env=self.settings.env).drain(self.spark)

    def stored(self) -> list[tuple[Any, Any, int]]:
        """Keys, values and times of the rows whose transactions were committed."""
        consumer = Consumer(
            {"bootstrap.servers": self.servers, "group.id": "look", "isolation.level": "read_committed"}
        )
        ends = kafka_offsets.end_offsets(self.servers, [self.rows])
        consumer.assign([KafkaPosition(topic, partition, 0) for topic, partition in ends])
        found = []
        while messages := consumer.consume(1000, 2.0):
            found += messages
        consumer.close()
        return [(json.loads(m.key() or b"null"), json.loads(m.value() or b""), m.timestamp()[1]) for m in found]

    def pairs(self) -> list[tuple[int, str]]:
        return sorted((value["id"], value["item"]) for _, value, _ in self.stored())


@pytest.fixture
def pipe(stack: LocalStack, spark: SparkSession) -> Pipe:
    return Pipe(stack, spark)


def test_each_row_is_a_record_with_its_key_and_the_time_of_its_record(pipe: Pipe) -> None:
    pipe.send({"id": 1, "items": ["a", "b"]}, {"id": 2, "items": []}, {"id": 4, "items": ["c"]})
    told = pipe.drain()
    assert (told.read, told.stored, told.skipped, told.dead_letters) == (3, 3, 1, 0)
    assert sorted(pipe.stored(), key=lambda row: (row[1]["id"], row[1]["item"])) == [
        ({"id": 1}, {"id": 1, "item": "a", "part": 10.0}, NOW),
        ({"id": 1}, {"id": 1, "item": "b", "part": 10.0}, NOW),
        ({"id": 4}, {"id": 4, "item": "c", "part": 2.5}, NOW + 2),
    ]
    assert pipe.drain().read == 0
    pipe.send({"id": 5, "items": ["d"]})
    assert pipe.drain(frazil__sql__topic__key="").stored == 1
    assert [row[0] for row in pipe.stored() if row[1]["id"] == 5] == [None]


@pytest.mark.parametrize("step", ["before the position", "before the commit", "after the commit"])
def test_rows_are_there_once_wherever_a_connector_ends(pipe: Pipe, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    pipe.send(*({"id": number, "items": ["a", "b"]} for number in range(1, 50)))
    expected = [(number, item) for number in range(1, 50) for item in ("a", "b")]

    class Ended(Exception):
        """The process ends here."""

    asked = Transactions._asked  # noqa: SLF001 - where the process ends

    def ends(self: Transactions, call: Any, what: str) -> None:
        point = {"did not take the position": "before the position", "did not commit": "before the commit"}.get(what)
        if point == step:
            self._producer.flush(20)
            raise Ended
        asked(self, call, what)
        if step == "after the commit" and what == "did not commit":
            raise Ended

    monkeypatch.setattr(Transactions, "_asked", ends)
    with pytest.raises(Ended):
        pipe.drain()
    monkeypatch.undo()
    pipe.drain()
    assert pipe.pairs() == expected


def test_a_record_whose_row_is_too_large_or_that_fails_is_a_dead_letter_alone(pipe: Pipe) -> None:
    pipe.send(
        {"id": 1, "items": ["a"]},
        {"id": 2, "items": ["b", os.urandom(4000).hex()]},
        {"id": 0, "items": ["c"]},
        b"no JSON",
    )
    told = pipe.drain(errors__tolerance="all", errors__deadletterqueue__topic__replication__factor="1")
    assert (told.stored, told.dead_letters) == (1, 3)
    assert pipe.pairs() == [(1, "a")]


def test_without_tolerance_the_rows_before_a_bad_record_are_sent(pipe: Pipe) -> None:
    pipe.send(
        {"id": 1, "items": ["a"]}, {"id": 2, "items": ["b"]}, {"id": 0, "items": ["c"]}, {"id": 3, "items": ["d"]}
    )
    with pytest.raises(BadRecord, match="DIVIDE_BY_ZERO"):
        pipe.drain()
    assert pipe.pairs() == [(1, "a"), (2, "b"), (3, "d")]
    with pytest.raises(BadRecord, match="offset 1"):
        pipe.drain()
    assert pipe.pairs() == [(1, "a"), (2, "b"), (3, "d")]


def test_who_takes_over_fences_who_was_there(pipe: Pipe) -> None:
    first = Transactions(pipe.servers, "c", f"connect-{pipe.name}", pipe.rows, 2000)
    Transactions(pipe.servers, "c", f"connect-{pipe.name}", pipe.rows, 2000)
    with pytest.raises(Fenced, match="another worker runs connector c"):
        first.commit([Produced(None, b"1", -1)], [])


def test_the_topic_and_the_columns_of_the_key_have_to_be_there(pipe: Pipe) -> None:
    pipe.send({"id": 1, "items": ["a"]})
    with pytest.raises(NotFound, match="none"):
        pipe.drain(frazil__sql__topic="none")
    with pytest.raises(ConfigError, match=r"frazil\.sql\.topic\.key names x, and the statement has id, item, part"):
        pipe.drain(frazil__sql__topic__key="x")
    with pytest.raises(ConfigError, match="would read its own rows without end"):
        pipe.drain(frazil__sql__topic=pipe.source)
    with pytest.raises(ConfigError, match="rows go to the topic of frazil.sql.topic"):
        pipe.drain(iceberg__tables="n.t")


def test_many_small_rows_are_no_large_one(pipe: Pipe) -> None:
    pipe.send({"id": 1, "items": [os.urandom(100).hex() for _ in range(200)]})
    assert pipe.drain().stored == len(pipe.pairs()) == 200


def test_a_topic_that_was_made_again_is_read_from_its_beginning(pipe: Pipe) -> None:
    pipe.send({"id": 1, "items": ["a"]})
    pipe.drain()
    kafka_topics.delete_topic(pipe.servers, pipe.source)
    for _ in range(50):
        try:
            kafka_topics.ensure_topics(pipe.servers, {pipe.source: (2, {})})
        except KafkaException:
            continue
        break
    pipe.send({"id": 2, "items": ["b"]}, {"id": 2, "items": ["b"]})
    pipe.drain()
    assert pipe.pairs() == [(1, "a"), (2, "b"), (2, "b")]


def test_a_backfill_sends_the_rows_of_a_span_once_beside_the_connector(pipe: Pipe) -> None:
    pipe.send(*({"id": number, "items": ["a"]} for number in range(1, 7)))
    opened = frazil.open(pipe.config(), pipe.name, env=pipe.settings.env)
    since, until = (datetime.fromtimestamp((NOW + at) / 1000, UTC) for at in (2, 5))
    report = opened.backfill(pipe.spark, since, until)
    assert report is not None
    assert (report.read, report.stored) == (3, 3)
    assert pipe.pairs() == [(number, "a") for number in (3, 4, 5)]
    assert opened.backfill(pipe.spark, since, until) is None, "they are there"
    assert pipe.drain().stored == 6, "the position of the connector stays as it is"
    with pytest.raises(UsageError, match="6 records of them are before the position of .* Nothing was stored"):
        opened.backfill(pipe.spark)


def test_a_backfill_that_was_ended_goes_on_behind_what_it_has_sent(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_task, "_MOST_RECORDS", 4)
    pipe.send(*({"id": number, "items": ["a"]} for number in range(1, 11)))
    opened = frazil.open(pipe.config(), pipe.name, env=pipe.settings.env)

    class Ended(Exception):
        """The process ends here."""

    commit, committed = Transactions.commit, iter(range(10))

    def ends(self: Transactions, *given: Any) -> Any:
        if next(committed) == 2:
            raise Ended
        return commit(self, *given)

    monkeypatch.setattr(Transactions, "commit", ends)
    with pytest.raises(Ended):
        opened.backfill(pipe.spark)
    assert len(pipe.pairs()) == 8
    report = opened.backfill(pipe.spark)
    assert report is not None and report.read == 2
    assert pipe.pairs() == [(number, "a") for number in range(1, 11)]
