"""Keeps secrets of a connector configuration out of errors, logs and traces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from frazil.declare.definition import HIDDEN
from frazil.declare.placeholders import has_placeholder

_SECRET = re.compile(
    r"secret|password|token|credential|sasl\.jaas\.config|private.?key|sse\.customer\.key", re.IGNORECASE
)


def is_secret(name: str) -> bool:
    """Whether the value of this key may not be shown."""
    return _SECRET.search(name) is not None


def hide_secrets(text: str, config: Mapping[str, str], more: Iterable[str] = ()) -> str:
    """`text` with every secret value of `config` replaced by `[hidden]`; switches (true, false) are no secrets.

    `more` are further values to hide, such as those that configuration providers gave.
    """
    secrets = (value for name, value in config.items() if is_secret(name) and not has_placeholder(value))
    values = {value.strip() for value in (*secrets, *more)} - {"", "true", "false"}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text
