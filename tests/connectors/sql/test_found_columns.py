"""Columns that are found: in a JSON Schema, in a registry, and in records."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from frazil.connectors.registry import checked
from frazil.connectors.sql import found_columns
from frazil.connectors.sql.config import found_keys, sql_config
from frazil.connectors.sql.found_columns import given_columns
from frazil.connectors.sql.sink import SqlSink
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from tests.clients.registry.server import Registry, served
from tests.connectors.broker import Broker
from tests.connectors.iceberg.driver import SIMPLE, TABLE, memory
from tests.connectors.samples import MINIMAL_SINK

STATEMENT = {**MINIMAL_SINK, "connector.class": "SqlSink", "topics": "t", "frazil.sql": "SELECT id FROM t"}
CLUSTER = Settings({}).bootstrap_servers
AVRO: dict[str, Any] = {
    "type": "record",
    "name": "Sale",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "_hidden", "type": "string"},
    ],
}
NOTED = {**AVRO, "fields": [*AVRO["fields"], {"name": "note", "type": "string"}]}
SALE = "`id` BIGINT, `price` DECIMAL(38, 3), `at` TIMESTAMP, `clock` BIGINT, `tags` MAP<STRING, STRING>"
NEWEST = "/subjects/t-value/versions/latest"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with memory({TABLE: SIMPLE}) as (made, _), pytest.MonkeyPatch.context() as patch:
        patch.setattr(found_columns, "newest_records", lambda bootstrap, topics, count: made.records(*topics))
        yield made


@pytest.fixture
def registry() -> Iterator[Registry]:
    with served({NEWEST: {"schema": json.dumps(AVRO)}}) as running:
        yield running


def registered(registry: Registry, **more: str) -> dict[str, str]:
    converter = "io.confluent.connect.avro.AvroConverter"
    keys = {"value.converter": converter, "value.converter.schema.registry.url": registry.url}
    given = {key: text for key, text in STATEMENT.items() if not key.startswith("value.converter")}
    return {**given, **keys, "frazil.sql.schema": "registry", **more}


def columns(config: Mapping[str, str]) -> dict[str, str]:
    _, own = sql_config({**config, **found_keys(config, CLUSTER)})
    return {topic: str(struct) for topic, struct in own.columns.items()}


def test_those_of_a_json_schema_have_its_dates_and_times() -> None:
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "at": {"type": "string", "format": "date-time"},
            "who": {"type": "object", "properties": {"born": {"type": "string", "format": "date"}}},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["id"],
    }
    assert str(given_columns(json.dumps(schema))) == (
        "struct<id: long, at: timestamptz, who: struct<born: date>, tags: list<string>>"
    )
    config = {**STATEMENT, "frazil.sql.schema": json.dumps(schema), "frazil.watermark": "at 1 minute"}
    checked({**config, "frazil.sql": "SELECT count(*) AS n FROM t GROUP BY window(at, '1 minute')"}, Settings({}))


@pytest.mark.parametrize(
    ("text", "said"),
    [('{"type": "string"}', "names no properties of an object"), ("{", "it is not JSON"), ("[]", "is no column")],
)
def test_what_is_no_schema_is_refused_at_its_key(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        checked({**STATEMENT, "frazil.sql.schema": text}, Settings({}))


def test_those_of_the_newest_schema_are_kept_and_a_newer_one_is_told(registry: Registry) -> None:
    config = registered(registry)
    found = found_keys(config, CLUSTER)
    assert found == {"frazil.sql.columns.t": SALE}
    registry.answers[NEWEST] = {"schema": json.dumps(NOTED)}
    assert found_keys({**config, **found}, CLUSTER) == {}, "what was found stays"
    assert f"{SALE}, `note` STRING" in found_keys({**config, "frazil.sql.columns.t": ""}, CLUSTER).values()
    sink = SqlSink({**config, **found}, Settings({}), CLUSTER)
    (concern,) = sink.newer_schemas()
    assert "the newest schema of topic t has other columns" in concern.what
    assert concern.cure.endswith("patch connector c --remove frazil.sql.columns.t")


@pytest.mark.parametrize("answer", [(503, {}), {"schema": '"string"'}])
def test_a_start_waits_for_no_registry(registry: Registry, caplog: pytest.LogCaptureFixture, answer: Any) -> None:
    config = registered(registry)
    sink = SqlSink({**config, **found_keys(config, CLUSTER)}, Settings({}), CLUSTER)
    registry.answers[NEWEST] = answer
    sink.look_for_newer_schemas().join()
    (told,) = caplog.messages
    assert told.startswith("connector c: whether there are newer schemas is not known: ")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"topics": "u", "frazil.sql": "SELECT id FROM u"}, "the columns of u cannot be found"),
        ({"value.converter": "org.apache.kafka.connect.json.JsonConverter"}, "needs a value.converter"),
        (
            {"transforms": "x", "transforms.x.type": "org.apache.kafka.connect.transforms.Flatten$Value"},
            "without transforms",
        ),
    ],
)
def test_those_that_a_registry_cannot_tell_are_refused(changes: dict[str, str], said: str, registry: Registry) -> None:
    config = registered(registry, **changes)
    with pytest.raises(ConfigError, match=said):
        found_keys({**config, "value.converter.schemas.enable": "false"}, CLUSTER)


def test_those_of_records_are_what_a_table_made_of_them_would_have(broker: Broker) -> None:
    broker.send(
        "t", [b'{"id": 1, "price": 1}', b'{"id": 2, "price": 2.5, "_x": 1, "who": {"n": [1]}}', b"no json", None]
    )
    assert columns({**STATEMENT, "frazil.sql.schema": "inferred"}) == {
        "t": "struct<id: long, price: double, who: struct<n: list<long>>>"
    }


def test_columns_that_are_text_because_records_differ_are_told(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.send("t", [b'{"id": 1, "at": "2026-01-01", "o": {"x": true}}', b'{"id": 2, "at": "later", "o": {"x": [1]}}'])
    broker.send("t", [b'{"id": "a"}'])
    with caplog.at_level(logging.INFO):
        found = columns({**STATEMENT, "name": "c", "frazil.sql.schema": "inferred"})
    assert found == {"t": "struct<id: string, at: string, o: struct<x: string>>"}
    told = [one for one in caplog.records if getattr(one, "event", "") == "columns mixed"]
    because = "of t is STRING, since the newest records have values of several kinds there:"
    assert [one.getMessage().partition(". ")[0] for one in told] == [
        f"connector c: column id {because} long in 2, text in 1",
        f"connector c: column o.x {because} boolean in 1, array in 1",
    ]


def test_those_of_records_are_the_ones_behind_transforms(broker: Broker) -> None:
    broker.send("t", [b'{"old": 1}'])
    rename = "org.apache.kafka.connect.transforms.ReplaceField$Value"
    keys = {"transforms": "x", "transforms.x.type": rename, "transforms.x.renames": "old:id"}
    assert columns({**STATEMENT, **keys, "frazil.sql.schema": "inferred"}) == {"t": "struct<id: long>"}


def test_a_topic_whose_records_show_none_is_refused(broker: Broker) -> None:
    broker.send("t", [None])
    with pytest.raises(ConfigError, match="no record of t shows columns yet"):
        found_keys({**STATEMENT, "frazil.sql.schema": "inferred"}, CLUSTER)
