"""Positions of connectors as the REST API shows and changes them."""

from collections.abc import Mapping
from typing import Protocol

from frazil.connectors.connector import Standing, open_connector
from frazil.connectors.positions import Changes
from frazil.declare.providers import ConfigProviders
from frazil.environment.settings import Settings
from frazil.pipeline.offsets import Offsets


class Positions(Protocol):
    """Next offsets of connectors, given by their names and configurations as they are stored."""

    def of(self, name: str, config: Mapping[str, str]) -> Offsets:
        """Offsets that the consumer group has committed; raises ServiceUnavailable."""

    def alter(self, name: str, config: Mapping[str, str], changes: Changes | None) -> list[str]:
        """Move the position of a connector that does not run, or forget it with None; see `Sink.alter`."""


class ConnectorPositions:
    """Positions in tables and consumer groups."""

    def __init__(self, settings: Settings, providers: ConfigProviders) -> None:
        self._settings = settings
        self._providers = providers

    def of(self, name: str, config: Mapping[str, str]) -> Offsets:
        return Standing.of(name, config, self._settings.bootstrap_servers, self._providers).position()

    def alter(self, name: str, config: Mapping[str, str], changes: Changes | None) -> list[str]:
        connector = open_connector(name, config, self._settings, self._providers)
        with connector.hiding() as sink:
            return sink.alter(changes)
