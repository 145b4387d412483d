"""Keys of a connector with a statement whose rows go to a topic."""

from collections.abc import Mapping
from dataclasses import dataclass

from frazil.connectors.keys.framework import check_sink
from frazil.connectors.keys.sink_config import SinkConfig, sink_fields
from frazil.declare.definition import Key, Parsed, invalid_value
from frazil.declare.validators import at_least

TOPIC = "frazil.sql.topic"
BUCKET = "s3.bucket.name"
_KEY = "frazil.sql.topic.key"
_INTERVAL = "frazil.sql.topic.interval.ms"

TOPIC_KEYS = (
    Key(
        TOPIC,
        "STRING",
        "Topic that the rows go to as JSON, in place of a table or a bucket; it has to exist. Rows and position are "
        "one transaction: its readers set isolation.level=read_committed.",
        default="",
        importance="HIGH",
    ),
    Key(_KEY, "LIST", "Columns that are the key of a row's record, as a JSON object; none for no key.", default=""),
    Key(
        _INTERVAL,
        "LONG",
        "Longest time that records wait for a transaction, in milliseconds.",
        default=1000,
        validator=at_least(0),
    ),
)


@dataclass(frozen=True, kw_only=True)
class TopicSinkConfig(SinkConfig):
    """A checked configuration: the topic of the rows, and the columns of their keys."""

    topic: str
    key_columns: tuple[str, ...]
    interval_ms: int


def to_topic(config: Mapping[str, str | None]) -> bool:
    """Whether the rows go to a topic."""
    return bool((config.get(TOPIC) or "").strip())


def to_objects(config: Mapping[str, str | None]) -> bool:
    """Whether the rows go to objects, or files of a Delta table."""
    return bool((config.get(BUCKET) or "").strip())


def check_topic(parsed: Parsed) -> None:
    """Check the keys; errors go into `parsed`."""
    check_sink(parsed)
    topic = parsed.text(TOPIC)
    if topic in parsed.items("topics"):
        reason = "The connector reads it, and would read its own rows without end"
        parsed.fail(TOPIC, invalid_value(TOPIC, topic, reason))
    if parsed.text("topics.regex"):
        reason = "Its own topic, or one that is made of its rows, may match; name the topics"
        parsed.fail("topics.regex", invalid_value("topics.regex", parsed.text("topics.regex"), reason))


def topic_config(parsed: Parsed) -> TopicSinkConfig:
    """The typed configuration; raises ConfigError with all errors in Connect's text when there are any."""
    return TopicSinkConfig(
        **sink_fields(parsed),
        topic=parsed.text(TOPIC),
        key_columns=tuple(parsed.items(_KEY)),
        interval_ms=parsed.number(_INTERVAL),
    )
