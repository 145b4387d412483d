"""ByLogicalTableRouter, ExtractChangedRecordState, TimezoneConverter, and the classes that are refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from frazil.connectors.iceberg.config.iceberg_sink import parse_iceberg_sink
from frazil.pipeline.transforms.chain import Transformer
from frazil.pipeline.transforms.record import Members, Raw
from frazil.pipeline.transforms.refused import REFUSED
from frazil.pipeline.types import Field, Scalar, Struct, Typed
from tests.pipeline.transforms.chains import Step, applied, chain, config, parsed, record, text

PACKAGE = "io.debezium.transforms."
STATE = {"source": {"table": "users"}, "ts_ms": 1}


def event(before: Any, after: Any, op: str = "u") -> bytes:
    return msgspec.json.encode({"op": op, "before": before, "after": after, **STATE})


@pytest.mark.parametrize(
    ("topic", "replacement", "expected"),
    [("db.users_1", "$1", "db.users"), ("other", "$1", "other"), ("db.users_1", "", "db.users_1")],
)
def test_shards_share_a_topic(topic: str, replacement: str, expected: str) -> None:
    keys = {"topic.regex": "(.*)_\\d+", "topic.replacement": replacement}
    made = applied(chain((PACKAGE + "ByLogicalTableRouter", keys)), b"{}", topic=topic)
    assert made is not None
    assert made.topic == expected


def test_changed_fields_are_listed_in_headers() -> None:
    keys = {"header.changed.name": "c", "header.unchanged.name": "u"}
    found = chain((PACKAGE + "ExtractChangedRecordState", keys))
    cases = [
        (event({"a": 1, "b": None, "c": 1}, {"a": 1, "b": 2, "c": None}), ["b", "c"], ["a"]),
        (event(None, {"a": 1}, "c"), [], []),
        (event({"a": 1}, None, "d"), [], []),
    ]
    for value, changed, unchanged in cases:
        made = applied(found, value)
        assert made is not None
        assert [(name, parsed(text(listed))) for name, listed in made.headers] == [("c", changed), ("u", unchanged)]
        assert parsed(text(made.value)) == parsed(value)
    other = applied(found, b'{"a":1}')
    assert other is not None
    assert other.headers == []


ZONED, MICROS = "io.debezium.time.ZonedTimestamp", "io.debezium.time.MicroTimestamp"


def converted(zone: str, type_: Scalar, value: bytes, **lists: str) -> Any:
    """A field `t` of the row after the change, whose schema gives it a type."""
    row = Typed(Raw(b'{"t":' + value + b"}"), Struct((Field("t", type_),)))
    keys = {"converted.timezone": zone, **{f"{name}.list": text for name, text in lists.items()}}
    source: Members = {"table": Raw(b'"users"'), "ts_ms": Raw(b"1000")}
    given: Members = {"op": Raw(b'"c"'), "source": source, "before": Raw(b"null"), "after": row}
    made = record(None, typed=True)
    made.value = given
    assert Transformer(chain((PACKAGE + "TimezoneConverter", keys))).apply(made)
    return parsed(text(made.value))


@pytest.mark.parametrize(
    ("zone", "kind", "origin", "value", "expected"),
    [
        ("+08:00", "string", ZONED, b'"2024-01-01T00:00:00.5Z"', "2024-01-01T08:00:00.5+08:00"),
        ("America/New_York", "string", ZONED, b'"2024-07-01T12:00:00Z"', "2024-07-01T08:00:00-04:00"),
        ("UTC", "string", ZONED, b'"2024-07-01T12:00:00+02:00"', "2024-07-01T10:00:00Z"),
        ("Europe/Berlin", "long", MICROS, b"1704067200000001", 1704063600000001),
        ("Europe/Berlin", "long", MICROS, b"9223372036825200000", 9223372036825200000),
        ("Europe/Berlin", "string", ZONED, b'"+infinity"', "+infinity"),
        ("+01:00", "string", "io.debezium.time.ZonedTime", b'"23:30:00Z"', "00:30:00+01:00"),
        ("Europe/Berlin", "string", "io.debezium.time.ZonedTime", b'"23:30:00Z"', "23:30:00Z"),
        ("+01:00", "long", "", b"5", 5),
    ],
)
def test_times_are_converted_by_their_schema(zone: str, kind: Any, origin: str, value: bytes, expected: Any) -> None:
    assert converted(zone, Scalar(kind, origin=origin), value)["after"]["t"] == expected


def test_rules_choose_tables_topics_and_fields() -> None:
    type_, value = Scalar("long", origin=MICROS), b"0"

    def changes(**lists: str) -> bool:
        return bool(converted("+01:00", type_, value, **lists)["after"]["t"] == -3_600_000_000)

    assert changes(include="source:users:t")
    assert changes(include="topic:t:after.t")
    assert not changes(include="topic:t:before.t")
    assert not changes(include="orders:t")
    assert changes(exclude="users:other")
    assert not changes(exclude="users:t")
    assert not changes(exclude="source:users")
    assert converted("+01:00", type_, value, include="users:source.ts_ms")["source"]["ts_ms"] == 3_601_000


def test_records_without_a_schema_stay_as_they_are() -> None:
    value = event(None, {"t": 0}, "c")
    made = applied(chain((PACKAGE + "TimezoneConverter", {"converted.timezone": "+01:00"})), value)
    assert made is not None
    assert parsed(text(made.value)) == parsed(value)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ((PACKAGE + "TimezoneConverter", {"converted.timezone": "Mars/Base"}), "'Mars/Base' is not recognised"),
        (
            (PACKAGE + "TimezoneConverter", {"converted.timezone": "UTC", "include.list": "a:b:c"}),
            "Rules are source:table:field",
        ),
        (
            (
                PACKAGE + "TimezoneConverter",
                {"converted.timezone": "UTC", "include.list": "a:b", "exclude.list": "c:d"},
            ),
            "Both include.list and exclude.list are set",
        ),
        *(((name, {}), why) for name, why in REFUSED.items()),
    ],
)
def test_what_cannot_work_is_refused_with_what_to_write(step: Step, reason: str) -> None:
    assert reason in " ".join(parse_iceberg_sink(config(step)).error_texts())
