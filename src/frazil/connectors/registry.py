"""The connector classes that a configuration may name, and the checks that the worker asks of them."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points

from frazil.connectors.debezium_keys import warnings_of_debezium
from frazil.connectors.iceberg.plugin import PLUGINS as ICEBERG
from frazil.connectors.keys.sink_definition import WARNINGS_LEVEL
from frazil.connectors.objects.plugin import PLUGINS as OBJECTS
from frazil.connectors.plugin import ConnectorPlugin
from frazil.connectors.sql.plugin import PLUGINS as SQL
from frazil.declare.definition import Parsed, invalid_config_message
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from frazil.text.near import nearest_class

GROUP = "frazil.connectors"
"""Entry points of packages that bring sinks: each is a ConnectorPlugin (docs/write-a-sink.md)."""


@cache
def plugins() -> tuple[ConnectorPlugin, ...]:
    """Every connector class: frazil's own, then those of other installed packages by their names.

    Raises ConfigError for an entry point that is no ConnectorPlugin.
    """
    others: list[ConnectorPlugin] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        found = point.load()
        if not isinstance(found, ConnectorPlugin):
            raise ConfigError(
                f"entry point {point.name} of {GROUP} ({point.value}) is no ConnectorPlugin. Remove or renew the "
                "package that brings it."
            )
        others.append(found)
    return (*ICEBERG, *OBJECTS, *SQL, *others)


def find_connector(name: str) -> ConnectorPlugin:
    """The connector of a class name or alias; an alias of both generations is the Apache one.

    Raises ConfigError with Connect's text when there is none.
    """
    for plugin in plugins():
        simple = plugin.simple_name
        if name in (plugin.class_name, simple, simple.removesuffix("Connector"), *plugin.aliases):
            return plugin
    near = nearest_class(name, [plugin.class_name for plugin in plugins()])
    available = ", ".join(f"{plugin.class_name} ({plugin.type} {plugin.version})" for plugin in plugins())
    raise ConfigError(
        f"Failed to find any class that implements Connector and which name matches {name}, "
        f"available connectors are: {available}{f'. Did you mean {near}?' if near else ''}"
    )


def connector_of(config: Mapping[str, str | None]) -> ConnectorPlugin:
    """The connector that `connector.class` names.

    Raises ConfigError when the key is missing; unlike Connect's text, it shows keys only, as values may be secrets.
    """
    name = config.get("connector.class")
    if name is None:
        raise ConfigError(f"Connector config {{{', '.join(sorted(config))}}} contains no connector type")
    return find_connector(name)


def completed(config: Mapping[str, str], settings: Settings) -> Mapping[str, str]:
    """The configuration with what its class takes from the worker's settings. Raises as `connector_of` does."""
    return connector_of(config).complete(config, settings)


def parsed_with(config: Mapping[str, str | None], settings: Settings) -> Parsed:
    """Parse a configuration with what its class takes from the worker's settings, and check it by these.

    Raises as `connector_of` does; errors are in the result.
    """
    plugin = connector_of(config)
    whole = plugin.complete({key: text for key, text in config.items() if text is not None}, settings)
    parsed = plugin.parse({**whole, **config})
    plugin.check(parsed, settings)
    return parsed


def checked(config: Mapping[str, str | None], settings: Settings) -> Parsed:
    """Parse a configuration that can run; raises ConfigError with all errors in Connect's text."""
    parsed = parsed_with(config, settings)
    errors = parsed.error_texts()
    if errors:
        raise ConfigError(invalid_config_message(errors))
    return parsed


def warnings_of(config: Mapping[str, str]) -> list[str]:
    """Warnings for whoever sees a configuration; for a class of another worker none but those about
    Debezium's keys, and none where they are information."""
    try:
        parsed = connector_of(config).parse(config)
    except ConfigError:
        return warnings_of_debezium(config)
    return [] if config.get(WARNINGS_LEVEL.name, "").strip() == "info" else parsed.warnings


def config_infos(
    config: Mapping[str, str | None],
    settings: Settings,
    obstacles: Callable[[Mapping[str, str]], list[str]] = lambda config: [],
) -> dict[str, object]:
    """The ConfigInfos body of a validate request; raises ConfigError without a known class.

    `obstacles` tells why a configuration that is right in itself cannot run in the worker; each is told at the key that
    it begins with, else at the class.
    """
    parsed = parsed_with(config, settings)
    own = {key: text for key, text in config.items() if text is not None}
    for text in [] if parsed.error_texts() else obstacles(own):
        key = text.partition(" ")[0].rstrip(":")
        parsed.errors.setdefault(key if key in config else "connector.class", []).append(text)
    return {
        "name": config["connector.class"],
        "error_count": len(parsed.error_texts()),
        "groups": parsed.definition.groups,
        "configs": parsed.config_infos(),
    }
