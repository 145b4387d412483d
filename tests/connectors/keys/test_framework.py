from __future__ import annotations

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import parse_iceberg_sink
from tests.connectors.samples import MINIMAL_SINK


def errors(**changes: str | None) -> list[str]:
    """Errors of the minimal sink with changed keys (`__` for a dot); None removes a key."""
    named = {key.replace("__", "."): value for key, value in changes.items()}
    return parse_iceberg_sink({k: v for k, v in {**MINIMAL_SINK, **named}.items() if v is not None}).error_texts()


def test_topics_or_regex_is_needed_and_stands_on_both_keys() -> None:
    assert errors(topics=None) == ["Must configure one of topics or topics.regex"] * 2
    assert errors(topics=" ") == ["Must configure one of topics or topics.regex"] * 2
    text = "topics and topics.regex are mutually exclusive options, but both are set."
    assert errors(topics__regex="a.*") == [text] * 2
    assert errors(topics=None, topics__regex="a.*") == []


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "errors__tolerance",
            "ALL",
            "Invalid value ALL for configuration errors.tolerance: String must be one of: none, all",
        ),
        (
            "errors__log__enable",
            "maybe",
            "Invalid value maybe for configuration errors.log.enable: Expected value to be either true or false",
        ),
        (
            "errors__retry__timeout",
            "1.5",
            "Invalid value 1.5 for configuration errors.retry.timeout: Not a number of type LONG",
        ),
        (
            "errors__deadletterqueue__topic__replication__factor",
            "x",
            "Invalid value x for configuration "
            "errors.deadletterqueue.topic.replication.factor: Not a number of type SHORT",
        ),
        (
            "config__action__reload",
            "never",
            "Invalid value never for configuration config.action.reload: String must be one of: none, restart",
        ),
        (
            "consumer__override__max__poll__records",
            "x",
            "Invalid value x for configuration consumer.override.max.poll.records: Not a number of type INT",
        ),
        (
            "consumer__override__auto__offset__reset",
            "none",
            "Invalid value none for configuration consumer.override.auto.offset.reset: String must be one of: "
            "earliest, latest",
        ),
        ("name", " ", "Invalid value  for configuration name: String may not be empty"),
        ("tasks__max", "0", "Invalid value 0 for configuration tasks.max: Value must be at least 1"),
        (
            "tasks__max",
            "2147483647",
            "Invalid value 2147483647 for configuration tasks.max: Value must be no more than 10000",
        ),
    ],
)
def test_wrong_values_have_connects_text(key: str, value: str, message: str) -> None:
    assert errors(**{key: value}) == [message]


def test_an_alias_stands_once() -> None:
    types = {f"transforms__{alias}__type": "Filter" for alias in "ab"}
    assert errors(transforms="a,b,a", **types) == [
        "Invalid value [a, b, a] for configuration transforms: Duplicate alias provided."
    ]


def test_the_dead_letter_topic_may_not_be_read() -> None:
    assert errors(topics="a,b", errors__deadletterqueue__topic__name="b") == [
        "The DLQ topic 'b' may not be included in the list of topics ('topics=[a, b]') consumed by the connector"
    ]
    assert errors(topics=None, topics__regex="a.*", errors__deadletterqueue__topic__name="a-dlq") == [
        "The DLQ topic 'a-dlq' may not be matched by the regex for the topics ('topics.regex=a.*') "
        "consumed by the connector"
    ]


def test_the_dead_letter_topic_that_is_used_by_default_may_not_be_read_either() -> None:
    assert errors(topics="a,a-dlq", errors__tolerance="all") == [
        "The DLQ topic 'a-dlq' may not be included in the list of topics ('topics=[a, a-dlq]') "
        "consumed by the connector"
    ]
    (text,) = errors(topics=None, topics__regex="a.*", errors__tolerance="all")
    assert "errors.deadletterqueue.topic.name: Must be set" in text


def test_a_dead_letter_topic_without_tolerance_is_warned_about() -> None:
    parsed = parse_iceberg_sink({**MINIMAL_SINK, "errors.deadletterqueue.topic.name": "d"})
    assert parsed.error_texts() == []
    assert len(parsed.warnings) == 1
    assert parsed.warnings[0].startswith("errors.deadletterqueue.topic.name has no effect here")
