"""How far connectors are behind their topics."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.clients.kafka import admin as kafka
from frazil.declare.providers import ConfigProviders
from frazil.environment.bootstrap import Bootstrap
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.watch.positions import cluster_of, group_of


def lag_of_all(bootstrap: Bootstrap, herder: Herder, providers: ConfigProviders) -> Mapping[tuple[str, str, int], int]:
    """Lag by (connector, topic, partition) of the connectors that name their topics."""
    result: dict[tuple[str, str, int], int] = {}
    for name in herder.running_here():
        config = herder.info(name).config
        topics = [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()]
        cluster, group = cluster_of(bootstrap, config, providers), group_of(name, config, providers)
        for (topic, partition), behind in kafka.lag(cluster, topics, group).items():
            result[name, topic, partition] = behind
    return result
