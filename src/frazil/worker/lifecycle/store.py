"""Stores of connector configurations and target states."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol, get_args

from frazil.engine.runner_api import TargetState
from frazil.environment.private_file import write_private
from frazil.errors import ConfigError

_FORMAT_VERSION = 1


@dataclass(frozen=True)
class StoredConnector:
    """A configuration exactly as it was sent (with `name`), and the state that the user wants."""

    config: Mapping[str, str]
    target_state: TargetState


OnChange = Callable[[str, StoredConnector | None, bool], None]
"""Callback with the name of a connector and its stored form (None: deleted); the flag is False when only the wanted
state was written."""


class ConfigStore(Protocol):
    """Keeps connectors over restarts of the worker; a change is durable, and was told, when the call returns."""

    def open(self, on_change: OnChange) -> None:
        """Tell every connector that is stored, and from then on every change."""

    def put(self, name: str, connector: StoredConnector) -> None:
        """Add or replace a connector."""

    def retarget(self, name: str, target: TargetState) -> None:
        """Change the wanted state of a connector that is stored."""

    def delete(self, name: str) -> None:
        """Remove a connector; nothing happens when there is none."""

    def problems(self) -> dict[str, str]:
        """Reasons by connector for which what is stored of it could not be read or carried out yet."""
        ...

    def close(self) -> None:
        """Tell no more changes; idempotent."""


class FileConfigStore:
    """Connectors in one JSON file that only its owner may read, replaced atomically on each change.

    Raises ConfigError from every method when the file exists and cannot be understood; it is never overwritten then.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._on_change: OnChange = lambda name, connector, configured: None

    def load(self) -> dict[str, StoredConnector]:
        """Load all connectors by name."""
        with self._lock:
            return self._read()

    def open(self, on_change: OnChange) -> None:
        with self._lock:
            stored = self._read()
            self._on_change = on_change
        for name, connector in stored.items():
            on_change(name, connector, True)

    def put(self, name: str, connector: StoredConnector) -> None:
        with self._lock:
            self._write({**self._read(), name: connector})
        self._on_change(name, connector, True)

    def retarget(self, name: str, target: TargetState) -> None:
        with self._lock:
            connectors = self._read()
            connector = replace(connectors[name], target_state=target)
            self._write({**connectors, name: connector})
        self._on_change(name, connector, False)

    def delete(self, name: str) -> None:
        with self._lock:
            connectors = self._read()
            known = connectors.pop(name, None) is not None
            if known:
                self._write(connectors)
        if known:
            self._on_change(name, None, True)

    def problems(self) -> dict[str, str]:
        return {}  # whoever makes a change is told

    def close(self) -> None:
        self._on_change = lambda name, connector, configured: None

    def _read(self) -> dict[str, StoredConnector]:
        try:
            text = self._path.read_text("utf-8")
        except FileNotFoundError:
            return {}
        except UnicodeDecodeError as error:
            raise self._corrupt("it is not UTF-8 text") from error
        try:
            document = json.loads(text)
        except ValueError as error:
            raise self._corrupt(f"it is not JSON ({error})") from error
        if not isinstance(document, dict) or document.get("version") != _FORMAT_VERSION:
            raise self._corrupt(f"it has no version {_FORMAT_VERSION}")
        entries = document.get("connectors")
        if not isinstance(entries, dict):
            raise self._corrupt("it has no connectors")
        return {name: self._entry(name, entry) for name, entry in entries.items()}

    def _entry(self, name: str, entry: object) -> StoredConnector:
        match entry:
            case {"config": dict(config), "target_state": str(state)} if all(
                isinstance(value, str) for value in config.values()
            ):
                for target in get_args(TargetState):
                    if state == target:
                        return StoredConnector(config, target)
        raise self._corrupt(f"the entry of connector {name} is incomplete")

    def _corrupt(self, reason: str) -> ConfigError:
        return ConfigError(
            f"{self._path} cannot be read as the list of connectors: {reason}. Nothing was changed. "
            "Repair the file, or move it away and create the connectors again; their positions are in the tables."
        )

    def _write(self, connectors: Mapping[str, StoredConnector]) -> None:
        document = {
            "version": _FORMAT_VERSION,
            "connectors": {name: asdict(connector) for name, connector in connectors.items()},
        }
        write_private(self._path, json.dumps(document, indent=2, ensure_ascii=False))
