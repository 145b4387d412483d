"""Records that a connector reads again once it has forgotten its position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from frazil.environment.settings import Settings
from frazil.errors import ConfigError, FrazilError

_RESET = "consumer.override.auto.offset.reset"


def read_again(
    config: Mapping[str, str], name: str, offsets: Sequence[Mapping[str, Any]], settings: Settings
) -> Iterator[str]:
    """Tell of the records below the position `offsets`, and what becomes of those that are stored already."""
    from frazil.clients.kafka.offsets import begin_offsets
    from frazil.connectors.connector import Standing
    from frazil.declare.providers import ConfigProviders

    if not all("kafka_topic" in entry["partition"] for entry in offsets):
        yield "it would read its source from the beginning again"
        return
    if config.get(_RESET, "earliest").strip() == "latest":
        yield f"it would go on at the end of its topics ({_RESET}=latest), and what comes until then would not be read"
        return
    reached = {
        (entry["partition"]["kafka_topic"], entry["partition"]["kafka_partition"]): entry["offset"]["kafka_offset"]
        for entry in offsets
    }
    providers = ConfigProviders.load(settings.config_providers, settings.env)
    try:
        cluster = Standing.of(name, config, settings.bootstrap_servers, providers).cluster
        first = begin_offsets(cluster, sorted({topic for topic, _ in reached}))
    except FrazilError as error:
        yield f"how many records it would read again is not known: {error}"
        first = {}
    total = 0
    for key, end in sorted(reached.items()):
        count = max(end - first.get(key, end), 0)
        total += count
        if count:
            yield f"{key[0]}-{key[1]}: {count:,} records from offset {first[key]:,} on would be read again"
    if not total and first:
        yield "nothing would be read again"
        return
    yield _consequence(config)


def _consequence(config: Mapping[str, str]) -> str:
    from frazil.connectors.plugin import STORED_AGAIN
    from frazil.connectors.registry import connector_of

    try:
        return connector_of(config).read_again(config)
    except ConfigError:  # of a class that is not installed here
        return STORED_AGAIN
