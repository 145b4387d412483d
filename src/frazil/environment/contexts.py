"""Contexts: named Kafka Connect workers in a file of the user's, as kcctl has them.

A context never holds a password: it names the environment variable or the file that has it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from frazil.environment.access import ConnectAccess
from frazil.environment.private_file import write_private
from frazil.errors import ConfigError, NotFound

_FIELDS = ("url", "user", "password_env", "password_file", "ca_file", "cert_file", "key_file")


@dataclass(frozen=True)
class Context:
    """Context of one worker. Paths are absolute; of `password_env` and `password_file` at most one is set."""

    url: str
    user: str = ""
    password_env: str = ""
    password_file: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""

    def access(self, name: str, env: Mapping[str, str]) -> ConnectAccess:
        """Access for a client; raises ConfigError when the password cannot be had or the parts do not fit."""
        found = ConnectAccess(
            self.url.rstrip("/"),
            self.user,
            self._password(name, env),
            _path(self.ca_file),
            _path(self.cert_file),
            _path(self.key_file),
            f"context {name}",
        )
        found.check()
        return found

    def _password(self, name: str, env: Mapping[str, str]) -> str:
        if self.password_env:
            if not env.get(self.password_env):
                raise ConfigError(f"context {name}: the variable {self.password_env}, which has the password, is empty")
            return env[self.password_env]
        if self.password_file:
            try:
                return Path(self.password_file).read_text("utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
                raise ConfigError(
                    f"context {name}: the password file {self.password_file} cannot be read: {reason}"
                ) from None
        return ""


@dataclass
class Contexts:
    """All contexts of a user by name, and the one that is used when none is named."""

    path: Path
    current: str = ""
    known: dict[str, Context] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Contexts:
        """Read the file; without it there are none. Raises ConfigError for a file that is not one of contexts."""
        try:
            document: Any = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return cls(path)
        except ValueError:
            raise ConfigError(f"{path} is not JSON. Repair it, or remove it and set the contexts again.") from None
        match document:
            case {"current": str(current), "contexts": dict(entries)}:
                return cls(path, current, {str(name): _context(path, name, entry) for name, entry in entries.items()})
        raise ConfigError(f"{path} is not a file of contexts. Repair it, or remove it and set the contexts again.")

    def get(self, name: str) -> Context:
        """A context by name; raises NotFound with the names that there are."""
        if name not in self.known:
            names = ", ".join(sorted(self.known)) or "none yet; `context set` makes one"
            raise NotFound(f"there is no context {name} in {self.path}; there are: {names}")
        return self.known[name]

    def save(self) -> None:
        """Write the file in one step, readable by its owner only."""
        document = {
            "current": self.current,
            "contexts": {
                name: {key: value for key, value in asdict(context).items() if value}
                for name, context in sorted(self.known.items())
            },
        }
        write_private(self.path, json.dumps(document, indent=2) + "\n")


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _context(path: Path, name: str, entry: object) -> Context:
    if isinstance(entry, dict) and "url" in entry and all(isinstance(value, str) for value in entry.values()):
        unknown = sorted(set(entry) - set(_FIELDS))
        if not unknown:
            return Context(**entry)
        raise ConfigError(f"{path}: context {name} has the unknown field {unknown[0]}; fields are {', '.join(_FIELDS)}")
    raise ConfigError(f"{path}: context {name} is not an object of texts with a url")
