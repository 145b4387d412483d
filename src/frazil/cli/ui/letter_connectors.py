"""The connectors whose dead letters a command is about: those of the worker, or one from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from frazil.environment.settings import Settings
from frazil.errors import NotFound, ServiceUnavailable, UsageError


@dataclass(frozen=True)
class Connectors:
    """Configurations by name. `only` is set when there is one, from a file; `unknown` tells why there may be others."""

    configs: Mapping[str, Mapping[str, str]]
    only: str | None = None
    unknown: str = ""

    @classmethod
    def known(cls, settings: Settings) -> Connectors:
        """Ask the worker; no connectors are known when it does not answer."""
        from frazil.clients.connect import ConnectClient

        try:
            with ConnectClient(settings.connect_access) as client:
                return cls({name: client.config(name) for name in client.connectors()})
        except ServiceUnavailable as error:
            return cls({}, unknown=f"{error}. Without it only topics named *-dlq, or with --topic, are read.")

    @classmethod
    def read(cls, file: Path, name: str | None) -> Connectors:
        """Read a file in one of the two shapes that Connect's REST API takes. Raises UsageError."""
        own, config = read_connector(file, f"--config {file}")
        own = own or name or ""
        if not own:
            raise UsageError(f"--config {file} has no name; give the connector's with --connector")
        if name not in (None, own):
            raise UsageError(f"--config {file} is of connector {own}, not of {name}")
        return cls({own: config}, only=own)

    def check(self, name: str) -> None:
        """Raise NotFound for a connector, without dead letters, that does not exist, as far as that is known."""
        if name not in self.configs and not self.unknown:
            known = ", ".join(sorted(self.configs)) or "none"
            raise NotFound(f"connector {name} does not exist, nor such a dead letter of it. Connectors here: {known}.")

    def config_of(self, name: str) -> Mapping[str, str]:
        """Configuration of a connector. Raises NotFound, or ServiceUnavailable when nobody can tell."""
        if name in self.configs:
            return self.configs[name]
        if self.unknown:
            raise ServiceUnavailable(
                f"the configuration of connector {name} is not known: the worker does not answer. No more was changed. "
                "Start it with `start`, or give the configuration with --config"
            )
        raise NotFound(f"connector {name} does not exist; give its configuration with --config")


def read_connector(file: Path, what: str) -> tuple[str, dict[str, str]]:
    """Name, empty when there is none, and configuration of a connector, in one of the shapes that the REST API takes.

    Raises UsageError that begins with `what`.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{what} cannot be read: {error}") from None
    except RecursionError:
        raise UsageError(f"{what} cannot be read: it is nested too deeply") from None
    config = found.get("config", found) if isinstance(found, dict) else None
    if not isinstance(config, dict) or not all(isinstance(v, str | int | float | bool) for v in config.values()):
        raise UsageError(f"{what}: expected the keys and values of one connector as a JSON object")
    name = str(found.get("name") or config.get("name") or "")
    return name, {key: v if isinstance(v, str) else json.dumps(v) for key, v in config.items()}
