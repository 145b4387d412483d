"""Positions of connectors as the REST API shows and changes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from frazil.clients.credentials import with_credentials, with_store_access
from frazil.clients.kafka import admin as kafka
from frazil.clients.objects import ObjectStore
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.iceberg.position.alter import Changes, alter_group, alter_positions, check_changes
from frazil.connectors.keys.framework import OVERRIDE, group_id
from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.connectors.objects.known_topics import KnownTopics, topics_object
from frazil.connectors.registry import sink_kind
from frazil.declare.providers import ConfigProviders
from frazil.declare.secrets import hide_secrets
from frazil.environment.bootstrap import CLIENTS, Bootstrap
from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from frazil.pipeline.offsets import Offsets

_OVERRIDES = tuple(f"{client}.override." for client in CLIENTS)


class Positions(Protocol):
    """Next offsets of connectors, given by their names and configurations as they are stored."""

    def of(self, name: str, config: Mapping[str, str]) -> Offsets:
        """What the consumer group has committed; raises ServiceUnavailable."""

    def alter(self, name: str, config: Mapping[str, str], changes: Changes | None) -> list[str]:
        """Move the position of a connector that does not run, or forget it with None; see `alter_positions`."""


def group_of(name: str, config: Mapping[str, str], providers: ConfigProviders) -> str:
    """The consumer group of a stored configuration, whose other values are not looked up."""
    key = OVERRIDE + "group.id"
    return group_id(name, providers.resolve({key: config[key]}).config if key in config else {})


def cluster_of(bootstrap: Bootstrap, config: Mapping[str, str], providers: ConfigProviders) -> Bootstrap:
    """The cluster as a stored configuration sees it, whose other values are not looked up."""
    own = {key: text for key, text in config.items() if key.startswith(_OVERRIDES)}
    return bootstrap.overridden(providers.resolve(own).config) if own else bootstrap


class ConnectorPositions:
    """Positions in tables and consumer groups."""

    def __init__(self, settings: Settings, providers: ConfigProviders) -> None:
        self._settings = settings
        self._providers = providers

    def of(self, name: str, config: Mapping[str, str]) -> Offsets:
        bootstrap = cluster_of(self._settings.bootstrap_servers, config, self._providers)
        return kafka.all_group_offsets(bootstrap, group_of(name, config, self._providers))

    def alter(self, name: str, config: Mapping[str, str], changes: Changes | None) -> list[str]:
        resolved = self._providers.resolve(config)
        try:
            if sink_kind(resolved.config) == "objects":
                return self._alter_group(name, resolved.config, changes)
            parsed = iceberg_sink_config({**resolved.config, "name": name})
            catalog = with_credentials(parsed.catalog_properties, self._settings)
            bootstrap = self._settings.bootstrap_servers.overridden(resolved.config)
            return alter_positions(replace(parsed, catalog_properties=catalog), bootstrap, changes)
        except FrazilError as error:
            raise type(error)(hide_secrets(str(error), resolved.config, resolved.secrets)) from None

    def _alter_group(self, name: str, config: Mapping[str, str], changes: Changes | None) -> list[str]:
        """Object sinks have their position in the consumer group, and keep which topics it is of.

        A Delta table keeps its own position, so the connector's topics have to stay those that it is of.
        """
        parsed = object_sink_config({**config, "name": name})
        store = ObjectStore(with_store_access(parsed.store, self._settings))
        known = KnownTopics(topics_object(parsed.layout, name), store)
        if parsed.delta is None:
            known.load()
        bootstrap = self._settings.bootstrap_servers.overridden(config)
        remarks: list[str] = []
        moves = None if changes is None else check_changes(bootstrap, changes, remarks)
        alter_group(bootstrap, group_id(name, config), moves)
        if parsed.delta is None:
            altered = None if changes is None else {topic for topic, _ in changes}
            known.forget(altered, {} if moves is None else moves.now.topic_ids)
        remarks.append("Objects that are stored stay, and get the same content when their records are read again.")
        remarks.append("Those of a topic that was made again are replaced by objects of the same names.")
        return remarks
