"""Lag of connectors behind their topics."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.connectors.connector import Standing
from frazil.declare.providers import ConfigProviders
from frazil.environment.bootstrap import Bootstrap
from frazil.worker.lifecycle.herder import Herder


def lag_of_all(bootstrap: Bootstrap, herder: Herder, providers: ConfigProviders) -> Mapping[tuple[str, str, int], int]:
    """Lag by (connector, topic, partition) of the connectors that name their topics."""
    result: dict[tuple[str, str, int], int] = {}
    for name in herder.running_here():
        standing = Standing.of(name, herder.info(name).config, bootstrap, providers)
        for (topic, partition), behind in standing.lag().items():
            result[name, topic, partition] = behind
    return result
