"""Checks of a configuration that is sent to the worker; warnings go to its log."""

import logging
from collections.abc import Callable, Mapping

from frazil.connectors.keys.sink_definition import WARNINGS_LEVEL
from frazil.connectors.registry import checked, connector_of
from frazil.declare.definition import invalid_config_message, invalid_value
from frazil.declare.providers import ConfigProviders
from frazil.declare.validators import non_empty_without_control_chars
from frazil.environment.settings import Settings
from frazil.errors import ConfigError

logger = logging.getLogger(__name__)

Config = Mapping[str, str | None]


class ConfigChecks:
    """Checks configurations as a worker of these settings would run them: `complete` adds the converters it has.

    `refusals` are those of the store, for a configuration that is right in itself. `find` finds keys that are kept with
    it.
    """

    def __init__(
        self,
        settings: Settings,
        providers: ConfigProviders,
        complete: Callable[[Mapping[str, str]], Mapping[str, str]],
        refusals: Callable[[str, Mapping[str, str]], list[str]],
        find: Callable[[str, Mapping[str, str]], Mapping[str, str]],
    ) -> None:
        self._settings = settings
        self._providers = providers
        self._complete = complete
        self._refusals = refusals
        self._find = find

    def whole(self, name: str, config: Config) -> dict[str, str]:
        """The configuration with its `name` and what was found for it; raises ConfigError with Connect's texts."""
        reason = non_empty_without_control_chars(name)
        if reason is not None:
            raise ConfigError(invalid_config_message([invalid_value("name", name, reason)]))
        own = config.get("name", name)
        if own != name:
            raise ConfigError(f"Connector name configuration ({own}) doesn't match connector name in the URL ({name})")
        named = {**config, "name": name}
        if None in named.values():
            checked(named, self._settings)  # a null is an error
        return self.checked(name, {key: value for key, value in named.items() if value is not None})

    def checked(self, name: str, config: Mapping[str, str]) -> dict[str, str]:
        """The configuration with what was found for it. Raises ConfigError for one that cannot run."""
        whole = {**config, **self._find(name, config)}
        self.check(name, whole)
        return whole

    def check(self, name: str, config: Mapping[str, str]) -> None:
        """Raise ConfigError for a configuration that cannot run; log its keys that have no effect."""
        parsed = checked(self._complete(config), self._settings)
        of_worker = tuple(f"{key} " for key in parsed.config.keys() - config.keys())
        warnings = [text for text in parsed.warnings if not text.startswith(of_worker)]
        refused = self._refusals(name, config)
        if refused:
            raise ConfigError(invalid_config_message(refused))
        warnings += self._providers.unknown(config)
        if warnings and config.get(WARNINGS_LEVEL.name, "").strip() == "info":
            logger.info("connector %s: %s", name, "; ".join(warnings))
            return
        for warning in warnings:
            logger.warning("connector %s: %s", name, warning)


def type_of(config: Mapping[str, str]) -> str:
    """`sink` or `source`; `unknown` when the class is none of this version, or not any more."""
    try:
        return connector_of(config).type
    except ConfigError:
        return "unknown"
