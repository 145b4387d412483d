"""Paths as people write them in variables."""

from pathlib import Path

from frazil.errors import ConfigError


def expanded(name: str, text: str) -> Path:
    """The path that a variable holds, `~` and `~user` replaced. Raises ConfigError when there is no such user."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ConfigError(f"{name}={text}: there is no home folder of that user; write the path in full") from None
