"""Transforms in a real worker: what they change, drop and refuse."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from frazil.clients.kafka import groups as kafka_groups
from tests.harness import Pipe, Worker, event, messages
from tests.waits import eventually

pytestmark = pytest.mark.spark

KAFKA = "org.apache.kafka.connect.transforms."
ICEBERG = "io.tabular.iceberg.connect.transforms."
TOLERANT = {"errors.tolerance": "all", "errors.deadletterqueue.context.headers.enable": "true"}
PRODUCED_MS = 1_772_361_000_123


def chain(**transforms: dict[str, str]) -> dict[str, str]:
    """Connector keys of these transforms, in their order."""
    keys = {f"transforms.{alias}.{key}": text for alias, given in transforms.items() for key, text in given.items()}
    return {"transforms": ",".join(transforms), **keys}


def test_three_transforms_and_a_predicate(worker: Worker, pipe: Pipe) -> None:
    transforms = chain(
        skip={"type": KAFKA + "Filter", "predicate": "test"},
        route={"type": KAFKA + "RegexRouter", "regex": "(.*)", "replacement": "routed-$1"},
        count={"type": KAFKA + "Cast$Value", "spec": "count:int32"},
        mask={"type": KAFKA + "MaskField$Value", "fields": "bucket", "replacement": "***"},
        when={"type": KAFKA + "InsertField$Value", "timestamp.field": "produced", "topic.field": "came_from"},
        type={"type": KAFKA + "TimestampConverter$Value", "field": "produced", "target.type": "Timestamp"},
    )
    predicate = {
        "predicates": "test",
        "predicates.test.type": KAFKA + "predicates.HasHeaderKey",
        "predicates.test.name": "test",
    }
    bad = event(7, count="many")
    pipe.send([event(n, count=str(n)) for n in range(5)], partition=0, timestamp=PRODUCED_MS)
    pipe.send([event(5)], partition=0, headers=[("test", b"1")])
    pipe.send([None, event(6), bad], partition=0, key=b"k", headers=[("trace", b"\x01")], timestamp=PRODUCED_MS)
    worker.client.put_config(pipe.connector, pipe.config() | TOLERANT | transforms | predicate)

    eventually(lambda: pipe.lag() == 0)

    rows = sorted(pipe.rows(), key=lambda row: row["id"])
    assert [(row["id"], row["count"], row["bucket"]) for row in rows] == [(n, n, "***") for n in (0, 1, 2, 3, 4, 6)]
    assert {row["produced"] for row in rows} == {datetime(2026, 3, 1, 10, 30, 0, 123_000, tzinfo=UTC)}
    assert str(pipe.table().schema().find_type("produced")) == "timestamptz"
    assert {row["came_from"] for row in rows} == {f"routed-{pipe.name}"}
    (letter,) = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    headers = dict(letter.headers())
    assert (letter.value(), letter.key(), headers["trace"]) == (bad, b"k", b"\x01")
    assert headers["__connect.errors.stage"] == b"TRANSFORMATION"
    assert headers["__connect.errors.class.name"] == (KAFKA + "Cast$Value").encode()
    assert headers["__connect.errors.topic"] == pipe.name.encode()
    assert b"transformation count: count: the text is not an integer" in headers["__connect.errors.exception.message"]
    group = f"connect-{pipe.connector}"  # positions are those of the topic that was read
    assert kafka_groups.group_offsets(pipe.settings.bootstrap_servers, group, [(pipe.name, 0)]) == {(pipe.name, 0): 9}


def test_without_tolerance_a_transform_that_fails_stops_the_connector(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(0), b"[1]", event(1)], partition=0)
    transforms = chain(drop={"type": KAFKA + "ReplaceField$Value", "exclude": "bucket"})
    worker.client.put_config(pipe.connector, pipe.config() | transforms)

    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    trace = worker.trace(pipe.connector)
    assert "partition 0, offset 1: transformation drop: the value is not an object but array" in trace
    assert pipe.ids() == [0]


def test_text_records_become_maps(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(n, tags={f"t{n}": {"deep": 1.50}}) for n in range(3)])
    transforms = chain(
        maps={"type": ICEBERG + "JsonToMapTransform"},
        where={"type": ICEBERG + "KafkaMetadataTransform", "nested": "true"},
    )
    text = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    config = {key: value for key, value in pipe.config().items() if not key.startswith("value.converter")}
    worker.client.put_config(pipe.connector, config | text | transforms)

    eventually(lambda: pipe.ids() == [0, 1, 2])

    rows = {row["id"]: row for row in pipe.rows()}
    assert rows[1]["tags"] == [("t1", '{"deep": 1.5}')]
    assert {row["_kafka_metadata"]["topic"] for row in rows.values()} == {pipe.name}
    assert str(pipe.table().schema().find_type("tags")) == "map<string, string>"
