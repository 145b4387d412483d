"""What a connector reads, how much at once, how long it waits for a broker: Spark's Kafka source, and its tasks."""

from __future__ import annotations

import re

from frazil.clients.kafka import admin as kafka
from frazil.clients.kafka.consumer_settings import consumer_settings
from frazil.clients.kafka.ranges import FETCH, RangeReader
from frazil.clients.kafka.security import secured
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.keys.framework import SinkConfig
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import NotFound
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.source import Source

_BURST_RECORDS = 100_000
"""So many waiting records start a batch before the commit interval is over."""

_GROUP = "frazil"
"""librdkafka wants the name of a group. All connectors of a worker that log in alike share one reader for each task."""

_ANSWER_MS = 12_000
_ATTEMPTS = 2
"""A broker that is gone ends the query after two attempts to learn the newest offsets."""


def topics_of(config: SinkConfig, bootstrap: str) -> list[str]:
    """Names of the topics of a connector as they exist now. Raises NotFound when none matches its pattern."""
    if config.topics_regex is None:
        return list(config.topics)
    pattern = re.compile(config.topics_regex)
    found = sorted(topic for topic in kafka.topics(bootstrap) if pattern.fullmatch(topic))
    if not found:
        raise NotFound(f"no topic matches topics.regex={config.topics_regex} at {bootstrap}")
    return found


def source_options(config: IcebergSinkConfig, bootstrap: str, topics: list[str], begin: Offsets) -> dict[str, str]:
    """Options of `spark.readStream.format("kafka")`, which says what is in a batch; the tasks read it by themselves.

    `bootstrap` is the cluster as the connector sees it. The user's `consumer.override.*` win over everything that is
    set here for Kafka's clients.
    """
    regex = config.topics_regex
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "startingOffsets": offsets.to_json(begin),
        "groupIdPrefix": f"frazil-{config.name}",
        "failOnDataLoss": "true",
        "maxOffsetsPerTrigger": str(config.max_records_per_batch),
        "minOffsetsPerTrigger": str(min(_BURST_RECORDS, config.max_records_per_batch)),
        "maxTriggerDelay": f"{config.commit_interval_ms}ms",
        "fetchOffset.numRetries": str(_ATTEMPTS),
        "fetchOffset.retryIntervalMs": "1000",
    }
    options["subscribe" if regex is None else "subscribePattern"] = ",".join(topics) if regex is None else regex
    return options | {f"kafka.{key}": value for key, value in _client_options(config, bootstrap).items()}


def task_source(config: SinkConfig, bootstrap: str, *, headers: bool) -> Source:
    """How the tasks of a connector read; with `headers`, or where records may become dead letters, with headers too.

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
    return Source(consumer, headers or config.errors_tolerance == "all")


def _client_options(config: SinkConfig, bootstrap: str) -> dict[str, str]:
    """Bounded waits; Kafka wants an API call to take at least as long as one of its requests."""
    overrides = config.consumer_overrides
    security = bootstrap.settings("consumer") if isinstance(bootstrap, Bootstrap) else {}
    request_ms = int(overrides.get("request.timeout.ms", _ANSWER_MS))
    call_ms = int(overrides.get("default.api.timeout.ms", _ANSWER_MS))
    return {
        **overrides,
        "request.timeout.ms": str(request_ms),
        "default.api.timeout.ms": str(max(request_ms, call_ms)),
        **security,  # the overrides are in it
    }
