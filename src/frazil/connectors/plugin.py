"""A connector class that a configuration may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.connectors.keys.versions import VERSION
from frazil.declare.definition import ConfigDef, Parsed
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.connectors.sink import Sink


STORED_AGAIN = "what is stored of them would be stored again"


@dataclass(frozen=True)
class ConnectorPlugin:
    """A sink: its class name, its keys, how its configuration is checked, and what opens it.

    `open` gets a configuration without placeholders and the cluster as the connector sees it; it raises ConfigError
    for a configuration that cannot run. It imports what only a running sink needs. `complete` adds what a configuration
    leaves to the worker, whose settings it gets; `check` adds the errors of a parsed one that only these show. `find`
    gives keys that are found when a connector is created, and kept with it; it gets what `open` gets. `asks_store`
    tells whether only the store knows that a configuration can run. `read_again` tells what becomes of stored records
    that are read once more. `holds_position`: what it stores tells how far it is, so that a new consumer group does not
    make it begin anew. `gathers` tells how many records of a partition are stored together where no clock stores them
    before. `aliases` are names beside the simple one.
    """

    class_name: str
    definition: Callable[[Mapping[str, str | None]], ConfigDef]
    parse: Callable[[Mapping[str, str | None]], Parsed]
    open: Callable[[Mapping[str, str], Settings, Bootstrap], Sink]
    version: str = VERSION
    complete: Callable[[Mapping[str, str], Settings], Mapping[str, str]] = lambda config, settings: config
    check: Callable[[Parsed, Settings], None] = lambda parsed, settings: None
    find: Callable[[Mapping[str, str], Bootstrap], Mapping[str, str]] = lambda config, cluster: {}
    asks_store: Callable[[Mapping[str, str]], bool] = lambda config: False
    read_again: Callable[[Mapping[str, str]], str] = lambda config: STORED_AGAIN
    holds_position: bool = False
    gathers: Callable[[Mapping[str, str]], int] = lambda config: 0
    aliases: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """Type in Kafka Connect's words."""
        return "sink"

    @property
    def simple_name(self) -> str:
        """The class name without its package."""
        return self.class_name.rpartition(".")[2]

    @property
    def task_class(self) -> str:
        """The class name that its tasks have in Kafka Connect."""
        return self.class_name.removesuffix("Connector") + "Task"
