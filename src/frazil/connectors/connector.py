"""A connector, opened: what everything that runs, shows, checks or moves one begins with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.keys.overrides import OVERRIDE, group_id
from frazil.connectors.registry import completed, connector_of
from frazil.connectors.sink import Sink
from frazil.connectors.source import matching, topics_of
from frazil.declare.providers import ConfigProviders, Resolved
from frazil.declare.secrets import hide_secrets
from frazil.environment.bootstrap import CLIENTS, Bootstrap
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, NotFound
from frazil.pipeline.offsets import Offsets

_TOPIC_KEYS = ("topics", "topics.regex")
_CLUSTER_KEYS = (OVERRIDE + "group.id", *(f"{client}.override." for client in CLIENTS))


@dataclass(frozen=True)
class Connector:
    """A configuration with its placeholders resolved, the cluster as it sees it, and its sink.

    `cluster` has the worker's login with what the connector overrides of it.
    """

    name: str
    resolved: Resolved
    cluster: Bootstrap
    sink: Sink

    def topics(self) -> list[str]:
        """Topics of the connector that exist now. Raises NotFound when none matches its pattern, ServiceUnavailable."""
        return topics_of(self.sink.config, self.cluster)

    def missing_topics(self) -> list[str]:
        """Tell which topics of the connector do not exist now. Raises ServiceUnavailable."""
        if self.sink.config.topics_regex is not None:
            try:
                self.topics()
            except NotFound as error:
                return [str(error)]
        missing = kafka_topics.missing_topics(self.cluster, self.sink.config.topics)
        return [f"topic {name} does not exist at {self.cluster}{hint}" for name, hint in missing.items()]

    @contextmanager
    def hiding(self) -> Iterator[Sink]:
        """The sink; what is raised meanwhile has no secret of the configuration in its text."""
        with _hiding(self.resolved):
            yield self.sink


@contextmanager
def _hiding(resolved: Resolved) -> Iterator[None]:
    try:
        yield
    except FrazilError as error:
        raise type(error)(hide_secrets(str(error), resolved.config, resolved.secrets)) from None


def open_connector(name: str, config: Mapping[str, str], settings: Settings, providers: ConfigProviders) -> Connector:
    """Open a connector from its configuration as it is stored.

    Raises ConfigError for a configuration that cannot run, with no secret in its text.
    """
    return open_resolved(name, providers.resolve(config), settings)


def open_resolved(name: str, resolved: Resolved, settings: Settings) -> Connector:
    """Open a connector whose placeholders are resolved. Raises as `open_connector` does."""
    config = {**resolved.config, "name": name}
    cluster = settings.bootstrap_servers.overridden(config)
    with _hiding(resolved):
        plugin, whole = connector_of(config), completed(config, settings)
        sink = plugin.open({**whole, **plugin.find(whole, cluster)}, settings, cluster)
    return Connector(name, resolved, cluster, sink)


def found_keys(
    name: str, config: Mapping[str, str], settings: Settings, providers: ConfigProviders
) -> Mapping[str, str]:
    """Find the keys that are kept with a connector that is created or changed. Raises as `open_connector` does."""
    resolved = providers.resolve(config)
    whole = {**resolved.config, "name": name}
    with _hiding(resolved):
        return connector_of(whole).find(completed(whole, settings), settings.bootstrap_servers.overridden(whole))


@dataclass(frozen=True)
class Standing:
    """The consumer group of a connector as it sees it, and its topics: the names, or Java's pattern of them.

    A source connector has neither.
    """

    cluster: Bootstrap
    group: str
    topics: tuple[str, ...]
    pattern: str = ""

    @classmethod
    def of(cls, name: str, config: Mapping[str, str], servers: Bootstrap, providers: ConfigProviders) -> Standing:
        """Take what a stored configuration says. Raises ConfigError for a placeholder that cannot be resolved."""
        own = {key: text for key, text in config.items() if key.startswith(_CLUSTER_KEYS) or key in _TOPIC_KEYS}
        resolved = providers.resolve(own).config
        topics = (topic.strip() for topic in resolved.get("topics", "").split(","))
        pattern = resolved.get("topics.regex", "").strip()
        return cls(servers.overridden(resolved), group_id(name, resolved), tuple(filter(None, topics)), pattern)

    def known_topics(self, existing: Sequence[str] | None = None) -> list[str]:
        """Topics that are named, or that match the pattern now, or of those that exist. Raises ServiceUnavailable."""
        if not self.pattern:
            return list(self.topics)
        return matching(self.pattern, kafka_topics.topics(self.cluster) if existing is None else existing)

    def position(self) -> Offsets:
        """Next offsets that the consumer group has committed. Raises ServiceUnavailable."""
        return kafka_groups.all_group_offsets(self.cluster, self.group)

    def behind(self) -> Mapping[tuple[str, int], kafka_groups.Behind]:
        """Positions in each partition of the topics. Raises NotFound or ServiceUnavailable."""
        return kafka_groups.behind(self.cluster, self.known_topics(), self.group)

    def lag(self) -> Offsets:
        """Records that are not stored yet. Raises NotFound or ServiceUnavailable."""
        return kafka_groups.lag(self.cluster, self.known_topics(), self.group)
