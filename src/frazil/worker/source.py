"""Spark's Kafka source of a connector: what it reads, how much at once, how long it waits for a broker."""

from __future__ import annotations

import json
import re

from frazil.clients import kafka
from frazil.config.bootstrap import Bootstrap
from frazil.config.framework import SinkConfig
from frazil.config.iceberg_sink import IcebergSinkConfig
from frazil.errors import NotFound
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets

_BURST_RECORDS = 100_000
"""So many waiting records start a batch before the commit interval is over."""

_MANY = 4

_ANSWER_MS = 12_000
_ATTEMPTS = 2
_RECORDS_MS = 30_000
"""A broker that is gone ends the query: after two attempts to learn the newest offsets, or one to get records."""


def topics_of(config: SinkConfig, bootstrap: str) -> list[str]:
    """Names of the topics of a connector as they exist now. Raises NotFound when none matches its pattern."""
    if config.topics_regex is None:
        return list(config.topics)
    pattern = re.compile(config.topics_regex)
    found = sorted(topic for topic in kafka.topics(bootstrap) if pattern.fullmatch(topic))
    if not found:
        raise NotFound(f"no topic matches topics.regex={config.topics_regex} at {bootstrap}")
    return found


def source_options(
    config: IcebergSinkConfig, bootstrap: str, topics: list[str], begin: Offsets, parallelism: int
) -> dict[str, str]:
    """Options of `spark.readStream.format("kafka")`.

    `bootstrap` is the cluster as the connector sees it, `parallelism` how many tasks run at once. The user's
    `consumer.override.*` win over everything that is set here for Kafka's clients.
    """
    regex = config.topics_regex
    headers = config.errors_tolerance == "all" or (config.transforms is not None and config.transforms.reads_headers)
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "startingOffsets": offsets.to_json(begin),
        "groupIdPrefix": f"frazil-{config.name}",
        "failOnDataLoss": "true",
        "includeHeaders": str(headers).lower(),
        "maxOffsetsPerTrigger": str(config.max_records_per_batch),
        "minOffsetsPerTrigger": str(min(_BURST_RECORDS, config.max_records_per_batch)),
        "maxTriggerDelay": f"{config.commit_interval_ms}ms",
        "minPartitions": str(_ranges(len(begin), parallelism)),
        "kafkaConsumer.pollTimeoutMs": str(_RECORDS_MS),
        "fetchOffset.numRetries": str(_ATTEMPTS),
        "fetchOffset.retryIntervalMs": "1000",
    }
    options["subscribe" if regex is None else "subscribePattern"] = ",".join(topics) if regex is None else regex
    return options | {f"kafka.{key}": value for key, value in _client_options(config, bootstrap).items()}


def range_options(config: SinkConfig, bootstrap: str, begin: Offsets, end: Offsets, *, headers: bool) -> dict[str, str]:
    """Options of `spark.read.format("kafka")` for the records from `begin` to below `end` of some partitions.

    Each Kafka partition is one range, whose records one task gets in order.
    """
    partitions: dict[str, list[int]] = {}
    for topic, partition in sorted(end):
        partitions.setdefault(topic, []).append(partition)
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "assign": json.dumps(partitions),
        "startingOffsets": offsets.to_json(begin),
        "endingOffsets": offsets.to_json(end),
        "groupIdPrefix": f"frazil-{config.name}",
        "failOnDataLoss": "true",
        "includeHeaders": str(headers).lower(),
        "kafkaConsumer.pollTimeoutMs": str(_RECORDS_MS),
        "fetchOffset.numRetries": str(_ATTEMPTS),
        "fetchOffset.retryIntervalMs": "1000",
    }
    return options | {f"kafka.{key}": value for key, value in _client_options(config, bootstrap).items()}


def _ranges(partitions: int, parallelism: int) -> int:
    """Into how many ranges a batch is divided, so that each task has as many as the others.

    With several partitions for each task there is no need to: what a range leaves of its last fetch is memory.
    """
    uneven = partitions % parallelism and partitions < _MANY * parallelism
    return partitions * parallelism if uneven else partitions


def _client_options(config: SinkConfig, bootstrap: str) -> dict[str, str]:
    """Large fetches and bounded waits; Kafka wants an API call to take at least as long as one of its requests."""
    overrides = config.consumer_overrides
    security = bootstrap.settings("consumer") if isinstance(bootstrap, Bootstrap) else {}
    request_ms = int(overrides.get("request.timeout.ms", _ANSWER_MS))
    return {
        "max.partition.fetch.bytes": str(8 << 20),
        "receive.buffer.bytes": str(1 << 20),
        "max.poll.records": "2000",
        "request.timeout.ms": str(request_ms),
        "default.api.timeout.ms": str(max(request_ms, _ANSWER_MS)),
        **overrides,
        **security,  # the overrides are in it
    }
