from __future__ import annotations

from typing import Any

import msgspec
import pytest

from frazil.connectors.iceberg.config.iceberg_sink import parse_iceberg_sink
from frazil.pipeline.convert.strict import StageError
from frazil.pipeline.transforms.record import Record
from tests.pipeline.transforms.chains import applied, chain, config, parsed, text

CLASS = "io.debezium.transforms.outbox.EventRouter"
ROW: dict[str, Any] = {
    "id": "e1",
    "aggregatetype": "order",
    "aggregateid": "7",
    "type": "OrderCreated",
    "payload": '{"order": 7, "items": [1.50]}',
    "at": 1_600_000_000_000,
}


def event(op: str = "c", **row: Any) -> bytes:
    return msgspec.json.encode({"op": op, "ts_ms": 9, "source": {}, "before": None, "after": ROW | row})


def routed(value: bytes | None, **keys: str) -> Record | None:
    return applied(chain((CLASS, {name.replace("__", "."): text for name, text in keys.items()})), value)


def message(value: bytes, **keys: str) -> Any:
    made = routed(value, **keys)
    assert made is not None
    return parsed(text(made.value))


def test_the_message_goes_to_the_topic_of_its_aggregate() -> None:
    made = routed(event(), table__expand__json__payload="true")
    assert made is not None
    assert (made.topic, made.timestamp) == ("outbox.event.order", 9)
    assert text(made.value) == b'{"order": 7, "items": [1.50]}'
    assert [(name, text(value)) for name, value in made.headers] == [("id", b'"e1"')]


def test_names_of_columns_and_topic_are_configured() -> None:
    keys = {"route__by__field": "type", "route__topic__regex": "Order(.*)", "route__topic__replacement": "o.$1"}
    made = routed(event(), table__field__event__timestamp="at", **keys)
    assert made is not None
    assert (made.topic, made.timestamp) == ("o.Created", 1_600_000_000_000)


def test_further_columns_go_beside_the_message_or_into_headers() -> None:
    keys = {"table__fields__additional__placement": "type:envelope:kind, aggregateid:header, aggregateid:partition"}
    made = routed(event(), table__expand__json__payload="true", **keys)
    assert made is not None
    assert parsed(text(made.value)) == {"payload": {"order": 7, "items": [1.5]}, "kind": "OrderCreated"}
    assert [name for name, _ in made.headers] == ["id", "aggregateid"]
    more = {"table__fields__additional__placement": "none:header"}
    with pytest.raises(StageError, match="the row has no none, which table.fields.additional.placement names"):
        routed(event(), **more)
    assert routed(event(), table__field__additional__missing="ignore", **more) is not None


@pytest.mark.parametrize("payload", ["text", "{broken", "5"])
def test_a_text_that_is_no_json_object_stays(payload: str) -> None:
    assert message(event(payload=payload), table__expand__json__payload="true") == payload


@pytest.mark.parametrize("payload", [None, "", "  "])
def test_an_empty_message_may_become_a_tombstone(payload: str | None) -> None:
    assert message(event(payload=payload), route__tombstone__on__empty__payload="true") is None
    assert message(event(payload=payload)) == payload


def test_deletes_updates_and_tombstones_are_dropped() -> None:
    for value in (None, event("u"), event("d", after=None)):
        assert routed(value) is None
    with pytest.raises(StageError, match="the row of an outbox was updated"):
        routed(event("u"), table__op__invalid__behavior="fatal")


def test_what_is_no_change_event_stays() -> None:
    assert message(b'{"a":1}') == {"a": 1}


@pytest.mark.parametrize("name", ["id", "payload", "aggregatetype"])
def test_a_row_without_a_column_is_refused(name: str) -> None:
    row = {key: value for key, value in ROW.items() if key != name}
    value = msgspec.json.encode({"op": "c", "source": {}, "after": row})
    with pytest.raises(StageError, match=name):
        routed(value)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"table.fields.additional.placement": "type:body"}, "type:body is not column:place"),
        ({"route.topic.replacement": "${none}"}, "route.topic.replacement"),
        ({"route.topic.regex": "(a)\\1"}, "route.topic.regex"),
    ],
)
def test_keys_that_cannot_work_are_refused(keys: dict[str, str], reason: str) -> None:
    assert reason in " ".join(parse_iceberg_sink(config((CLASS, keys))).error_texts())
