"""The connectors whose dead letters a command is about: those of the worker, or one from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from frazil.connectors.documents import read_documents
from frazil.environment.settings import Settings
from frazil.errors import NotFound, ServiceUnavailable, UsageError


@dataclass(frozen=True)
class Connectors:
    """Configurations by name. `only` is set when there is one, from a file; `unknown`: why there may be others."""

    configs: Mapping[str, Mapping[str, str]]
    only: str | None = None
    unknown: ServiceUnavailable | None = None

    @classmethod
    def known(cls, settings: Settings, names: Sequence[str] = ()) -> Connectors:
        """Ask the worker, for these connectors alone where some are named; none are known when it does not answer."""
        from frazil.cli.ui.console import tell_waiting
        from frazil.clients.connect import ConnectClient

        try:
            with ConnectClient(settings.connect_access, tell_waiting) as client:
                if not names:
                    return cls({name: entry["info"]["config"] for name, entry in client.expanded().items()})
                configs = {}
                for name in names:
                    with suppress(NotFound):  # which `config_of` tells
                        configs[name] = client.config(name)
                return cls(configs)
        except ServiceUnavailable as error:
            return cls({}, unknown=error)

    @classmethod
    def read(cls, file: Path, name: str | None) -> Connectors:
        """Read a file of connectors as `apply` takes them; one without a name is `name`. Raises UsageError."""
        found = read_documents([str(file)], fallback=lambda file: name or "")
        if name is not None and name not in [document.name for document in found]:
            raise UsageError(f"{file} is of connector {found[0].name}, not of {name}. Nothing was done.")
        return cls(
            {document.name: document.config for document in found}, only=found[0].name if len(found) == 1 else None
        )

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
            raise type(self.unknown)(
                f"the configuration of connector {name} is not known: {self.unknown}, or give it with --config. No "
                "more was changed"
            )
        raise NotFound(f"connector {name} does not exist; give its configuration with --config")
