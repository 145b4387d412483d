"""The connector classes that a configuration may name, and the checks that the worker asks of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_definition, parse_iceberg_sink
from frazil.connectors.objects.config.object_sink import object_sink_definition, parse_object_sink
from frazil.declare.definition import ConfigDef, Parsed, invalid_config_message
from frazil.errors import ConfigError

VERSION = version("frazil")


@dataclass(frozen=True)
class ConnectorPlugin:
    """A connector class: its name, the class name of its tasks, and how its configuration is checked."""

    class_name: str
    task_class: str
    type: Literal["sink", "source"]
    definition: Callable[[Mapping[str, str | None]], ConfigDef]
    parse: Callable[[Mapping[str, str | None]], Parsed]
    writes: Literal["tables", "objects"] = "tables"

    @property
    def simple_name(self) -> str:
        return self.class_name.rpartition(".")[2]


def _iceberg_sink(package: str) -> ConnectorPlugin:
    return ConnectorPlugin(
        class_name=f"{package}.IcebergSinkConnector",
        task_class=f"{package}.IcebergSinkTask",
        type="sink",
        definition=iceberg_sink_definition,
        parse=parse_iceberg_sink,
    )


def _object_sink(class_name: str) -> ConnectorPlugin:
    return ConnectorPlugin(
        class_name=class_name,
        task_class=class_name.removesuffix("Connector") + "Task",
        type="sink",
        definition=object_sink_definition,
        parse=parse_object_sink,
        writes="objects",
    )


CONNECTORS: tuple[ConnectorPlugin, ...] = (
    _iceberg_sink("org.apache.iceberg.connect"),
    _iceberg_sink("io.tabular.iceberg.connect"),
    _object_sink("io.confluent.connect.s3.S3SinkConnector"),
    _object_sink("frazil.ObjectSinkConnector"),
)


def find_connector(name: str) -> ConnectorPlugin:
    """The connector of a class name or alias; an alias of both generations is the Apache one.

    Raises ConfigError with Connect's text when there is none.
    """
    for plugin in CONNECTORS:
        simple = plugin.simple_name
        if name in (plugin.class_name, simple, simple.removesuffix("Connector")):
            return plugin
    available = ", ".join(f"{plugin.class_name} ({plugin.type} {VERSION})" for plugin in CONNECTORS)
    raise ConfigError(
        f"Failed to find any class that implements Connector and which name matches {name}, "
        f"available connectors are: {available}"
    )


def connector_of(config: Mapping[str, str | None]) -> ConnectorPlugin:
    """The connector that `connector.class` names.

    Raises ConfigError when the key is missing; unlike Connect's text, it shows keys only, as values may be secrets.
    """
    name = config.get("connector.class")
    if name is None:
        raise ConfigError(f"Connector config {{{', '.join(sorted(config))}}} contains no connector type")
    return find_connector(name)


def sink_kind(config: Mapping[str, str | None]) -> Literal["tables", "objects"]:
    """What the connector writes. Raises ConfigError as `connector_of` does."""
    return connector_of(config).writes


def check_config(config: Mapping[str, str | None]) -> list[str]:
    """Warnings about a configuration that can run; raises ConfigError with all errors in Connect's text."""
    parsed = connector_of(config).parse(config)
    errors = parsed.error_texts()
    if errors:
        raise ConfigError(invalid_config_message(errors))
    return parsed.warnings


def config_infos(config: Mapping[str, str | None]) -> dict[str, object]:
    """The ConfigInfos body of a validate request; raises ConfigError without a known class."""
    parsed = connector_of(config).parse(config)
    return {
        "name": config["connector.class"],
        "error_count": len(parsed.error_texts()),
        "groups": parsed.definition.groups,
        "configs": parsed.config_infos(),
    }
