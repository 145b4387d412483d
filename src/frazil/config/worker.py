"""Configuration of a worker: `worker.properties`, and variables `CONNECT_…` as container images have them.

Of a key that is given twice the variable counts, as variables win over files everywhere. Both win over the variables
of the stack (`KAFKA_BOOTSTRAP_SERVERS`, `KAFKA_CONNECT_PORT`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import javaproperties

from frazil.config.definition import ConfigDef, Parsed, invalid_value
from frazil.config.settings import LOOPBACK, Settings
from frazil.config.worker_keys import WORKER_KEYS
from frazil.errors import ConfigError

_PREFIX = "CONNECT_"
_IMAGE = ("CONNECT_LOG4J_", "CONNECT_CUB_", "CONNECT_HEAP", "CONNECT_PORT")
_ESCAPES = {"___": "-", "__": "_", "_": "."}
_TOPICS = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")

DEFINITION = ConfigDef(WORKER_KEYS)


@dataclass(frozen=True)
class WorkerConfig:
    """A checked configuration: the properties as they were given, parsed values, and what is to be said once."""

    properties: Mapping[str, str]
    parsed: Parsed
    host: str
    port: int

    @classmethod
    def load(cls, settings: Settings, file: Path | None = None) -> WorkerConfig:
        """Read the file, if any, and the variables.

        Raises ConfigError for a file that cannot be read and for values that cannot be used.
        """
        properties = {**(_read(file) if file is not None else {}), **_variables(settings.env)}
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
        host, port = _listener(parsed, settings)
        return cls(properties, parsed, host, port)

    @property
    def group(self) -> str | None:
        """The group that the worker is a member of; None when it is alone."""
        return self.parsed.text("group.id") or None

    @property
    def port_source(self) -> str:
        """What the port of the REST API was set with."""
        return "listeners" if self.parsed.items("listeners") else "KAFKA_CONNECT_PORT"

    @property
    def advertised(self) -> tuple[str, int]:
        """Host and port that this worker tells others, and that statuses have as `worker_id`."""
        host = self.parsed.text("rest.advertised.host.name") or self.host
        if host in ("0.0.0.0", "::"):  # noqa: S104 - replaced by a name that others can reach
            from socket import getfqdn

            host = getfqdn()
        return host, self.parsed.number("rest.advertised.port") or self.port

    @property
    def warning(self) -> str | None:
        """One text about all keys that change nothing here; None when every key counts."""
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
        changed = {name: self.properties[key] for key, name in _VARIABLES.items() if self.properties.get(key)}
        connect = {_variable(key): text for key, text in self.properties.items()}
        return Settings({**settings.env, **connect, **changed, "KAFKA_CONNECT_PORT": str(self.port)})

    def with_converters(self, config: Mapping[str, str]) -> dict[str, str]:
        """A connector's configuration with the worker's converters, with their options, where it names none."""
        own = dict(config)
        for role in ("key", "value", "header"):
            name = f"{role}.converter"
            if name not in config:
                given = {key: text for key, text in self.properties.items() if key.startswith(name)}
                own = {**given, **own}
        return own


_VARIABLES = {"bootstrap.servers": "KAFKA_BOOTSTRAP_SERVERS"}


def _read(file: Path) -> dict[str, str]:
    try:
        return {key: text.strip() for key, text in javaproperties.loads(file.read_text("utf-8")).items()}
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}. Nothing was started.") from None
    except ValueError as error:
        raise ConfigError(f"{file} is not a properties file ({type(error).__name__}). Nothing was started.") from None


def key_of(variable: str) -> str:
    """The key of a variable: `CONNECT_GROUP_ID` is `group.id`; two underscores are one, three are a hyphen."""
    return re.sub("_{1,3}", lambda found: _ESCAPES[found[0]], variable.removeprefix(_PREFIX).lower())


def _variables(env: Mapping[str, str]) -> dict[str, str]:
    return {
        key_of(name): text
        for name, text in env.items()
        if name.startswith(_PREFIX) and not name.startswith(_IMAGE) and text.strip()
    }


def _variable(key: str) -> str:
    return _PREFIX + key.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def _listener(parsed: Parsed, settings: Settings) -> tuple[str, int]:
    listeners = parsed.items("listeners")
    if not listeners:
        return LOOPBACK, settings.connect_port
    for text in listeners:
        parts = urlsplit(text.lower())
        try:
            port = parts.port
        except ValueError:
            port = None
        if parts.scheme == "http" and port is not None:
            return parts.hostname or "0.0.0.0", port  # noqa: S104 - what the empty host of a listener means
    reason = "one of the form http://host:port is needed"
    raise ConfigError(f"{invalid_value('listeners', listeners, reason)}. Nothing was started.")
