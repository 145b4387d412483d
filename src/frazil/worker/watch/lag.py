"""Lag of the connectors of a worker, asked with one client for each cluster however many connectors there are."""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka.groups import Behind
from frazil.connectors.connector import Standing
from frazil.declare.providers import ConfigProviders
from frazil.engine.runner_api import Progress
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import NotFound
from frazil.pipeline.offsets import Offsets
from frazil.worker.lifecycle.herder import Herder

logger = logging.getLogger(__name__)

Lag = Mapping[tuple[str, str, int], Behind]
"""Positions of connectors, by (connector, topic, partition)."""


class Lags:
    """Looks for the lag of the sinks of this worker.

    A connector that runs knows its position. Kafka is asked for that of one that is halted, with a client for its group
    alone: when it is seen first, and then of one halted connector at each look.
    """

    def __init__(
        self,
        servers: Bootstrap,
        herder: Herder,
        providers: ConfigProviders,
        progress: Callable[[str], Progress | None],
    ) -> None:
        self._servers = servers
        self._herder = herder
        self._providers = providers
        self._progress = progress
        self._lock = threading.Lock()
        self._halted: dict[str, Offsets] = {}
        """Offsets that the groups of halted connectors have committed, those first that were asked for longest ago."""

    def look(self) -> Lag:
        """Find the positions. Raises ServiceUnavailable, and ConfigError for a placeholder that has no value."""
        clusters: defaultdict[tuple[object, ...], dict[str, Standing]] = defaultdict(dict)
        for name in self._herder.running_here():
            with suppress(NotFound):  # deleted since it was listed
                standing = Standing.of(name, self._herder.info(name).config, self._servers, self._providers)
                clusters[standing.cluster.identity("admin")][name] = standing
        running = {name: self._progress(name) for several in clusters.values() for name in several}
        with self._lock:
            self._halted = {name: known for name, known in self._halted.items() if running.get(name, ...) is None}
            self._halted.pop(next(iter(self._halted), ""), None)
            return {key: behind for several in clusters.values() for key, behind in self._of(several, running).items()}

    def _of(self, standings: Mapping[str, Standing], running: Mapping[str, Progress | None]) -> Lag:
        """Positions of the connectors of one cluster."""
        cluster = next(iter(standings.values())).cluster
        topics = {name: _topics(standing, running[name]) for name, standing in standings.items()}
        found = kafka_offsets.look_at_ends(cluster, set().union(*topics.values()))
        for topic, error in found.errors.items():
            logger.warning("the lag of topic %s is not known: %s", topic, error)
        by_topic: defaultdict[str, Offsets] = defaultdict(dict)
        for key, end in found.ends.items():
            by_topic[key[0]][key] = end
        positions: dict[str, tuple[Offsets, Offsets]] = {}
        for name, standing in standings.items():
            ends = {key: end for topic in topics[name] for key, end in by_topic[topic].items()}
            progress = running[name]
            position = self._committed(name, standing, ends) if progress is None else progress.position
            positions[name] = position, ends
        fresh = {key[0] for position, ends in positions.values() for key in ends.keys() - position.keys()}
        begins = kafka_offsets.begin_offsets(cluster, fresh) if fresh else {}
        return {
            (name, *key): Behind(position.get(key, begins.get(key, 0)), end)
            for name, (position, ends) in positions.items()
            for key, end in ends.items()
        }

    def _committed(self, name: str, standing: Standing, ends: Offsets) -> Offsets:
        if name not in self._halted:
            self._halted[name] = kafka_groups.group_offsets(standing.cluster, standing.group, ends)
        return self._halted[name]


def _topics(standing: Standing, progress: Progress | None) -> set[str]:
    """The topics of a connector; one that runs has found those of its pattern."""
    return {topic for topic, _ in progress.ends} if progress and progress.ends else set(standing.known_topics())
