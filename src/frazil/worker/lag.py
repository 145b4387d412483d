"""How far connectors are behind their topics."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.clients import kafka
from frazil.config.framework import group_id
from frazil.worker.herder import Herder


def lag_of_all(bootstrap: str, herder: Herder) -> Mapping[tuple[str, str, int], int]:
    """Lag by (connector, topic, partition) of the connectors that name their topics."""
    result: dict[tuple[str, str, int], int] = {}
    for name in herder.connectors():
        config = herder.info(name).config
        topics = [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()]
        for (topic, partition), behind in kafka.lag(bootstrap, topics, group_id(name, config)).items():
            result[name, topic, partition] = behind
    return result
