"""Texts inside double quotes."""

from __future__ import annotations


def quoted(text: str) -> str:
    """A text in double quotes, with backslashes before those in it and before backslashes.

    So do JAAS configurations and lines of Java options take it.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
