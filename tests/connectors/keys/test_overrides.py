from __future__ import annotations

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import parse_iceberg_sink
from frazil.connectors.keys.overrides import auto_offset_reset, consumer_overrides, group_id
from tests.connectors.samples import MINIMAL_SINK


def test_group_and_start_of_the_consumer() -> None:
    assert group_id("c", {}) == "connect-c"
    assert group_id("c", {"consumer.override.group.id": "g"}) == "g"
    assert auto_offset_reset(parse_iceberg_sink(MINIMAL_SINK)) == "earliest"
    latest = {**MINIMAL_SINK, "consumer.override.auto.offset.reset": "latest"}
    assert auto_offset_reset(parse_iceberg_sink(latest)) == "latest"


def test_overrides_lose_their_prefix_and_those_that_the_worker_sets_are_warned_about() -> None:
    config = {
        **MINIMAL_SINK,
        "consumer.override.fetch.min.bytes": "1000",
        "consumer.override.group.id": "g",
        "consumer.override.enable.auto.commit": "true",
        "consumer.override.session.timeout.ms": "1000",
    }
    parsed = parse_iceberg_sink(config)
    assert consumer_overrides(parsed) == {"fetch.min.bytes": "1000", "session.timeout.ms": "1000"}
    assert sorted(parsed.warnings) == [
        "consumer.override.enable.auto.commit has no effect here: the worker sets it",
        "consumer.override.fetch.min.bytes has no effect here: tasks read offsets that are there, in no group",
        "consumer.override.session.timeout.ms has no effect here: tasks read offsets that are there, in no group",
    ]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("request.timeout.ms", "-1", "Value must be at least 0"),
        ("receive.buffer.bytes", "-2", "Value must be at least -1"),
        ("max.poll.records", "0", "Value must be at least 1"),
        ("fetch.max.bytes", "many", "Not a number of type INT"),
        ("check.crcs", "maybe", "Expected value to be either true or false"),
        ("isolation.level", "serial", "String must be one of: read_committed, read_uncommitted"),
    ],
)
def test_overrides_that_kafkas_consumer_refuses(name: str, text: str, reason: str) -> None:
    key = f"consumer.override.{name}"
    parsed = parse_iceberg_sink({**MINIMAL_SINK, key: text})
    assert parsed.errors[key] == [f"Invalid value {text} for configuration {key}: {reason}"]


def test_overrides_are_trimmed() -> None:
    parsed = parse_iceberg_sink({**MINIMAL_SINK, "consumer.override.isolation.level": " read_committed "})
    assert parsed.error_texts() == []
    assert consumer_overrides(parsed) == {"isolation.level": "read_committed"}


@pytest.mark.parametrize("name", ["interceptor.classes", "metric.reporters", "partition.assignment.strategy"])
def test_java_classes_of_the_consumer_are_left_out_with_a_warning(name: str) -> None:
    parsed = parse_iceberg_sink({**MINIMAL_SINK, f"consumer.override.{name}": "no.such.Class"})
    assert consumer_overrides(parsed) == {}
    assert parsed.warnings == [
        f"consumer.override.{name} has no effect here: records are read by librdkafka, which loads no Java classes"
    ]


@pytest.mark.parametrize("prefix", ["consumer.override.", "producer.override.", "admin.override."])
def test_an_override_of_nothing_is_refused(prefix: str) -> None:
    (text,) = parse_iceberg_sink({**MINIMAL_SINK, prefix: "1"}).errors[prefix]
    assert text.startswith(f"Invalid value 1 for configuration {prefix}: The name of the setting is missing")


def test_of_producer_and_admin_only_security_is_overridden() -> None:
    changes = {
        "producer.override.sasl.mechanism": "PLAIN",
        "producer.override.acks": "1",
        "admin.override.ssl.truststore.type": "PEM",
        "admin.override.retries": "1",
    }
    assert parse_iceberg_sink({**MINIMAL_SINK, **changes}).warnings == [
        "producer.override.acks has no effect here: only settings of security are overridden",
        "admin.override.retries has no effect here: only settings of security are overridden",
    ]
