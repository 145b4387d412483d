"""Settings for tests: a home and ports of their own, nothing of the developer's environment but the downloads."""

from __future__ import annotations

from pathlib import Path

from bench.environment import isolated_settings as isolated_settings

from frazil.environment.settings import Settings


def quiet(text: str) -> None:
    """No progress is shown."""


def own_cache(settings: Settings, folder: Path) -> str:
    """A value for FRAZIL_CACHE: `folder` with the downloads of these settings' cache, and nothing else of it."""
    jars = settings.cache / "jars"
    jars.mkdir(parents=True, exist_ok=True)
    folder.mkdir()
    (folder / "jars").symlink_to(jars)
    return str(folder)
