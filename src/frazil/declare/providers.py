"""Configuration providers: values of a connector that stand in a file, a folder or the environment of the worker.

The keys are those of Kafka Connect's worker: `config.providers` names the providers, `config.providers.<name>.class`
and `.param.*` describe each. Values are looked up when a connector starts, and are kept out of all that is shown.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from frazil.declare.placeholders import Placeholder, placeholders, replace
from frazil.declare.secrets import forms, hide, is_secret, secrets_of
from frazil.errors import ConfigError
from frazil.text.lists import listed

PREFIX = "config.providers"
_SHORTEST = 4
"""A shorter value is hidden only where the key says that it is a secret; a digit would be hidden everywhere else."""


_MOST_SECRETS = 1000
_MOST_CHARACTERS = 64 << 10


class Provider(Protocol):
    """Looks up values outside of a configuration."""

    def get(self, path: str, keys: Collection[str]) -> dict[str, str]:
        """The values of those keys that exist under `path`; raises ConfigError when `path` cannot be used."""


@dataclass(frozen=True)
class FileProvider:
    """`${file:/path/of.properties:key}`: keys of a Java properties file (FileConfigProvider)."""

    allowed: tuple[Path, ...] = ()

    def get(self, path: str, keys: Collection[str]) -> dict[str, str]:
        import javaproperties

        text = _read(_allowed(path, self.allowed))
        try:
            found = javaproperties.loads(text)
        except ValueError as error:
            raise ConfigError(f"{path} is not a properties file: {type(error).__name__}") from None
        return {key: found[key] for key in keys if key in found}


@dataclass(frozen=True)
class DirectoryProvider:
    """`${dir:/folder:name}`: the text of a file in a folder, as Kubernetes mounts secrets (DirectoryConfigProvider)."""

    allowed: tuple[Path, ...] = ()

    def get(self, path: str, keys: Collection[str]) -> dict[str, str]:
        folder = _allowed(path, self.allowed)
        if not folder.is_dir():
            raise ConfigError(f"{path} is not a folder")
        found: dict[str, str] = {}
        for key in keys:
            if not key or Path(key).name != key:
                raise ConfigError(f"{key!r} is not the name of a file in {path}")
            file = _allowed(str(folder / key), self.allowed)
            if file.is_file():
                found[key] = _read(file)
        return found


@dataclass(frozen=True)
class EnvironmentProvider:
    """`${env:NAME}`: variables of the worker's environment (EnvVarConfigProvider)."""

    environ: Mapping[str, str]
    allowed: re.Pattern[str] | None = None

    def get(self, path: str, keys: Collection[str]) -> dict[str, str]:
        if path:
            raise ConfigError(f"environment variables have no path, but {path!r} is given")
        for key in keys:
            if self.allowed is not None and not self.allowed.fullmatch(key):
                raise ConfigError(f"variable {key} does not match allowlist.pattern")
        return {key: self.environ[key] for key in keys if key in self.environ}


@dataclass(frozen=True)
class Resolved:
    """A configuration without placeholders, and the values that came from providers and may not be shown."""

    config: Mapping[str, str]
    secrets: frozenset[str] = frozenset()


class ConfigProviders:
    """The providers of a worker by name; without any, placeholders are plain text, as in Kafka Connect."""

    def __init__(self, providers: Mapping[str, Provider] | None = None) -> None:
        self._providers = dict(providers or {})
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._texts: tuple[str, ...] = ()

    @classmethod
    def load(cls, properties: Mapping[str, str], environ: Mapping[str, str]) -> ConfigProviders:
        """Providers from the worker's keys `config.providers` and below; raises ConfigError for a wrong one."""
        names = listed(properties.get(PREFIX, ""))
        return cls({name: _provider(name, properties, environ) for name in names})

    def unknown(self, config: Mapping[str, str | None]) -> list[str]:
        """Warnings about placeholders that no provider of the worker replaces."""
        return [
            f"{key}: {placeholder.text} stays as it is: the worker has no provider {placeholder.provider} in {PREFIX}"
            for key, text in config.items()
            for placeholder in placeholders(text or "")
            if placeholder.provider not in self._providers
        ]

    def resolve(self, config: Mapping[str, str]) -> Resolved:
        """The configuration with every value that a provider has.

        Raises ConfigError, which names the key and the placeholder but no value, when one cannot be had.
        """
        self.keep_out(config)
        values = self._look_up(config)
        secrets: set[str] = set()
        resolved: dict[str, str] = {}
        for key, text in config.items():
            resolved[key] = replace(text, lambda found: values.get(found, found.text))
            own = [values[found] for found in placeholders(text) if found in values]
            secrets.update(value for value in own if len(value.strip()) >= _SHORTEST or is_secret(key))
        self._note(secrets)
        return Resolved(resolved, frozenset(secrets))

    def keep_out(self, config: Mapping[str, str]) -> None:
        """Have `hide` hide the secrets of a configuration from now on."""
        self._note({text for text in secrets_of(config) if len(text) >= _SHORTEST})

    def hide(self, text: str) -> str:
        """`text` without the secrets of the configurations that were resolved since the worker started.

        Those of the last thousand secrets; a text is cut behind 64 KiB, so that a line costs as much at most.
        """
        texts = self._texts
        longest = len(texts[0]) if texts else 0
        left_out = len(text) - _MOST_CHARACTERS - longest
        if left_out <= 0:
            return hide(text, texts)
        shown = hide(text[:-left_out], texts)  # it may end within a secret
        return f"{shown[: len(shown) - longest]}… and {left_out + longest} more characters"

    def _note(self, secrets: Collection[str]) -> None:
        """Hide these values from now on, and forget the oldest of too many."""
        with self._lock:
            known = self._seen.keys() >= set(secrets)
            for secret in secrets:
                self._seen[secret] = self._seen.pop(secret, frozenset()) or frozenset(forms(secret.strip()))
            while len(self._seen) > _MOST_SECRETS:
                self._seen.popitem(last=False)
            if not known:
                self._texts = tuple(sorted(frozenset().union(*self._seen.values()), key=len, reverse=True))

    def _look_up(self, config: Mapping[str, str]) -> dict[Placeholder, str]:
        wanted: dict[tuple[str, str], dict[Placeholder, str]] = {}
        for key, text in config.items():
            for found in placeholders(text):
                if found.provider in self._providers:
                    wanted.setdefault((found.provider, found.path), {}).setdefault(found, key)
        values: dict[Placeholder, str] = {}
        for (name, path), where in wanted.items():
            try:
                answer = self._providers[name].get(path, [found.key for found in where])
            except ConfigError as error:
                found, key = next(iter(where.items()))
                raise _missing(key, found, str(error)) from None
            for found, key in where.items():
                if found.key not in answer:
                    raise _missing(key, found, f"there is no {found.key} in {path or 'the environment'}")
                values[found] = answer[found.key]
        return values


def _missing(key: str, placeholder: Placeholder, reason: str) -> ConfigError:
    return ConfigError(
        f"{key}: no value for {placeholder.text}: {reason}. Nothing was read. "
        "Correct it on the worker's machine or in the configuration, then restart the connector."
    )


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text") from None


def _allowed(path: str, allowed: Iterable[Path]) -> Path:
    real = Path(path).resolve()
    if not path or not Path(path).is_absolute():
        raise ConfigError(f"{path!r} is not an absolute path")
    roots = tuple(allowed)
    if roots and not any(real.is_relative_to(root) for root in roots):
        raise ConfigError(f"{path} is not under allowed.paths")
    return real


def _paths(parameters: Mapping[str, str]) -> tuple[Path, ...]:
    texts = listed(parameters.get("allowed.paths", ""))
    for text in texts:
        if not Path(text).is_absolute() or not Path(text).exists():
            raise ConfigError(f"allowed.paths has {text}, which is no absolute path of something that exists")
    return tuple(Path(text).resolve() for text in texts)


def _pattern(parameters: Mapping[str, str]) -> re.Pattern[str] | None:
    text = parameters.get("allowlist.pattern", "").strip()
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise ConfigError(f"allowlist.pattern is no regular expression: {error}") from None


_Make = Callable[[Mapping[str, str], Mapping[str, str]], Provider]
_CLASSES: Mapping[str, _Make] = {
    "FileConfigProvider": lambda parameters, environ: FileProvider(_paths(parameters)),
    "DirectoryConfigProvider": lambda parameters, environ: DirectoryProvider(_paths(parameters)),
    "EnvVarConfigProvider": lambda parameters, environ: EnvironmentProvider(environ, _pattern(parameters)),
}
_PACKAGE = "org.apache.kafka.common.config.provider."


def _provider(name: str, properties: Mapping[str, str], environ: Mapping[str, str]) -> Provider:
    key = f"{PREFIX}.{name}"
    class_name = properties.get(f"{key}.class", "").strip()
    make = _CLASSES.get(class_name.removeprefix(_PACKAGE))
    if make is None:
        known = ", ".join(_PACKAGE + simple for simple in _CLASSES)
        raise ConfigError(
            f"{key}.class is {class_name or 'not set'}; the classes of configuration providers are {known}"
        )
    prefix = f"{key}.param."
    parameters = {k.removeprefix(prefix): v for k, v in properties.items() if k.startswith(prefix)}
    try:
        return make(parameters, environ)
    except ConfigError as error:
        raise ConfigError(f"{prefix}{error}") from None
