"""Configuration of a worker: `worker.properties`, and variables `CONNECT_…` as container images have them.

Of a key that is given twice the variable counts, as variables win over files everywhere. Both win over the variables
of the stack (`KAFKA_BOOTSTRAP_SERVERS`, `KAFKA_CONNECT_PORT`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import getfqdn

import javaproperties

from frazil.declare.definition import ConfigDef, Parsed
from frazil.environment.listeners import Listener
from frazil.environment.settings import Settings
from frazil.environment.worker_keys import WORKER_KEYS
from frazil.errors import ConfigError

_PREFIX = "CONNECT_"
_IMAGE = ("CONNECT_LOG4J_", "CONNECT_CUB_", "CONNECT_HEAP", "CONNECT_PORT")
_TOPICS = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")

DEFINITION = ConfigDef(WORKER_KEYS)


@dataclass(frozen=True)
class WorkerConfig:
    """A checked configuration: the properties as they were given, parsed values, and what is to be said once."""

    properties: Mapping[str, str]
    parsed: Parsed
    listeners: tuple[Listener, ...]

    @classmethod
    def load(cls, settings: Settings, file: Path | None = None) -> WorkerConfig:
        """Read the file, if any, and the variables.

        Raises ConfigError for a file that cannot be read and for values that cannot be used.
        """
        properties = {**(_read(file) if file is not None else {}), **_of_environment(settings)}
        parsed = DEFINITION.parse(properties)
        errors = parsed.error_texts()
        if properties.get("group.id", "").strip() or properties.get(_TOPICS[0], "").strip():
            errors += [
                f'Missing required configuration "{key}" which has no default value.'
                for key in ("group.id", *_TOPICS)
                if not parsed.text(key)
            ]
        if errors:
            raise ConfigError(f"The worker's configuration is invalid: {'; '.join(errors)}. Nothing was started.")
        return cls(properties, parsed, tuple(_with(settings, properties).listeners))

    @property
    def group(self) -> str | None:
        """The group that the worker is a member of; None when it is alone."""
        return self.parsed.text("group.id") or None

    @property
    def advertised(self) -> Listener:
        """Listener for other workers; its host and port are the `worker_id` of statuses."""
        scheme = self.parsed.text("rest.advertised.listener")
        own = next((one for one in self.listeners if one.scheme == scheme), self.listeners[0])
        host = self.parsed.text("rest.advertised.host.name") or (getfqdn() if own.is_everywhere else own.host)
        return Listener(scheme or own.scheme, host, self.parsed.number("rest.advertised.port") or own.port)

    @property
    def warning(self) -> str | None:
        """Text about all keys that change nothing here; None when every key counts."""
        unknown, reasons = [], []
        for name in sorted(self.properties):
            key = DEFINITION.find(name)
            if key is None:
                unknown.append(name)
            elif key.no_effect:
                reasons.append(f"{name} ({key.no_effect})")
        if unknown:
            reasons.append(f"{', '.join(unknown)} (not known)")
        return f"keys of the worker's configuration without effect: {'; '.join(reasons)}" if reasons else None

    def settings(self, settings: Settings) -> Settings:
        """The settings with what the worker's configuration says instead."""
        return _with(settings, self.properties)

    def with_converters(self, config: Mapping[str, str]) -> dict[str, str]:
        """A connector's configuration with the worker's converters, with their options, where it names none."""
        own = dict(config)
        for role in ("key", "value", "header"):
            name = f"{role}.converter"
            if name not in config:
                given = {key: text for key, text in self.properties.items() if key.startswith(name)}
                own = {**given, **own}
        return own


def _read(file: Path) -> dict[str, str]:
    try:
        return {key: text.strip() for key, text in javaproperties.loads(file.read_text("utf-8")).items()}
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}. Nothing was started.") from None
    except ValueError as error:
        raise ConfigError(f"{file} is not a properties file ({type(error).__name__}). Nothing was started.") from None


def _of_environment(settings: Settings) -> dict[str, str]:
    image = {settings.key_of(name) for name in settings.env if name.startswith(_IMAGE)}
    return {key: text for key, text in settings.worker_properties.items() if key not in image}


def _with(settings: Settings, properties: Mapping[str, str]) -> Settings:
    """The settings as if the properties stood in the environment."""
    own = {_variable(key): text for key, text in properties.items()}
    servers = properties.get("bootstrap.servers", "").strip()
    return Settings({**settings.env, **own, **({"KAFKA_BOOTSTRAP_SERVERS": servers} if servers else {})})


def _variable(key: str) -> str:
    return _PREFIX + key.replace("_", "__").replace("-", "___").replace(".", "_").upper()
