"""Versions and version ranges of plugins, in Maven's notation."""

import re
from importlib.metadata import version

from frazil.errors import ConfigError

VERSION = version("frazil")

_RANGE = re.compile(r"([\[(])([^\[\](),]*)(?:(,)([^\[\](),]*))?([\])])")


def check_version(plugin: str, wanted: str, installed: str) -> None:
    """Raises ConfigError with Connect's texts when `wanted` is no version or range, or not what is installed."""
    wanted = wanted.strip()
    if wanted in ("latest", ""):
        return
    found = _RANGE.fullmatch(wanted)
    if found is None and (not wanted or re.search(r"[\[\](),]", wanted)):
        raise ConfigError(f"Invalid version specification: {wanted}")
    text = wanted if found else f"[{wanted},{wanted}]"
    opened, low, comma, high, closed = (found or _RANGE.fullmatch(text)).groups()  # type: ignore[union-attr]
    high = high if comma else low
    own = _order(installed)
    fits = (not low or _order(low) < own or (opened == "[" and _order(low) == own)) and (
        not high or own < _order(high) or (closed == "]" and own == _order(high))
    )
    if not fits:
        raise ConfigError(
            f"Plugin {plugin} not found that matches the version range {text}, available versions: [{installed}]"
        )


def _order(version: str) -> list[tuple[int, str]]:
    """Parts to compare: numbers by value, words (`1.0-rc1`) before numbers; zeros at the end do not count."""
    parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"[.\-]", version.strip())]
    while parts and parts[-1] == (0, ""):
        parts.pop()
    return parts
