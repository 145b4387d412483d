"""Dry run of a reset: what a connector would read again, and what becomes of what is stored of it."""

from collections.abc import Iterator, Mapping

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.connector import Standing
from frazil.connectors.plugin import STORED_AGAIN
from frazil.connectors.registry import connector_of
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, FrazilError
from frazil.pipeline.offsets import Offsets

_RESET = "consumer.override.auto.offset.reset"


def read_again(config: Mapping[str, str], name: str, reached: Offsets, settings: Settings) -> Iterator[str]:
    """Tell of the records below the position `reached`, which a connector that forgets it would read again."""
    if config.get(_RESET, "earliest").strip() == "latest":
        yield f"it would go on at the end of its topics ({_RESET}=latest), and what comes until then would not be read"
        return
    try:
        cluster = Standing.of(name, config, settings.bootstrap_servers, settings.providers()).cluster
        first = kafka_offsets.begin_offsets(cluster, sorted({topic for topic, _ in reached}))
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
    try:
        return connector_of(config).read_again(config)
    except ConfigError:  # of a class that is not installed here
        return STORED_AGAIN
