"""Source of a connector: its topics as they are now, and how its tasks fetch records."""

import re
from collections.abc import Iterable, Mapping

from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.consumer_settings import consumer_settings
from frazil.clients.kafka.ranges import FETCH, RangeReader
from frazil.clients.kafka.security import secured
from frazil.connectors.keys.sink_config import SinkConfig
from frazil.errors import NotFound
from frazil.pipeline.source import Source
from frazil.text.java_regex import compile_java

_GROUP = "frazil"
"""librdkafka wants the name of a group. All connectors of a worker that log in alike share one reader for each task."""


def topics_of(config: SinkConfig, bootstrap: str) -> list[str]:
    """Names of the topics of a connector as they exist now. Raises NotFound when none matches its pattern."""
    if config.topics_regex is None:
        return list(config.topics)
    found = matching(config.topics_regex, kafka_topics.topics(bootstrap))
    if not found:
        raise NotFound(f"no topic matches topics.regex={config.topics_regex} at {bootstrap}")
    return found


def matching(pattern: str, topics: Iterable[str]) -> list[str]:
    """The topics whose whole names a Java pattern matches, sorted."""
    whole = compile_java(pattern)
    return sorted(filter(whole.matches, topics))


def reads(config: Mapping[str, str], topic: str) -> bool:
    """Whether a sink reads a topic, as its configuration is stored; not known of a pattern that is none."""
    pattern = config.get("topics.regex", "").strip()
    try:
        named = [name.strip() for name in config.get("topics", "").split(",")]
        return topic in named or bool(pattern and matching(pattern, [topic]))
    except re.error:
        return False


def task_source(config: SinkConfig, bootstrap: str, *, headers: bool) -> Source:
    """Source for the tasks of a connector; with `headers`, or where records may become dead letters, with headers.

    The user's `consumer.override.*` win, as far as librdkafka has what they set. Raises ConfigError for a value that it
    does not take, and for security settings that cannot be used.
    """
    consumer = {
        **FETCH,
        **consumer_settings(config.consumer_overrides),
        **secured(bootstrap, "consumer"),
        "group.id": _GROUP,
        "allow.auto.create.topics": False,
        "enable.metrics.push": False,
        "log_level": 0,
    }
    RangeReader(consumer).close()
    return Source(consumer, headers or config.reads_schema_headers or config.errors_tolerance == "all")
