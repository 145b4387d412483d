"""Settings for tests: a home and ports of their own, nothing of the developer's environment but the downloads."""

from __future__ import annotations

import os
from pathlib import Path

from frazil.config.settings import Settings
from frazil.stack.ports import unused
from frazil.stack.process import minimal_env

_KEPT = ("JAVA_HOME", "XDG_CACHE_HOME", "FRAZIL_CACHE", "FRAZIL_IVY_SETTINGS")
_PORTS = (
    "KAFKA_EXTERNAL_PORT",
    "KAFKA_CONTROLLER_PORT",
    "DEST_API_PORT",
    "ICEBERG_CATALOG_PORT",
    "KAFKA_CONNECT_PORT",
    "ACTUATOR_PORT",
    "TRINO_PORT",
)


def isolated_settings(home: Path, **variables: str) -> Settings:
    """Settings with `home` as FRAZIL_HOME and free ports; `variables` are environment variables on top."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    ports = dict(zip(_PORTS, map(str, unused(len(_PORTS))), strict=True))
    env = {**minimal_env(os.environ), **kept, **ports, "FRAZIL_HOME": str(home), **variables}
    return Settings.load(env, env_file=Path(os.devnull))


def own_cache(settings: Settings, folder: Path) -> str:
    """A value for FRAZIL_CACHE: `folder` with the downloads of these settings' cache, and nothing else of it."""
    jars = settings.cache / "jars"
    jars.mkdir(parents=True, exist_ok=True)
    folder.mkdir()
    (folder / "jars").symlink_to(jars)
    return str(folder)
