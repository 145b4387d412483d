"""Name of the program in help texts, and the examples below them."""

from __future__ import annotations

import os

PROGRAM = os.environ.get("FRAZIL_PROGRAM") or "frazil"
"""The command as the user has typed it; the start script passes its own name on."""


def examples(*arguments: str) -> str:
    """Text below the help of a verb; each example is what follows the program's name."""
    lines = "\n".join(f"  {PROGRAM} {line}" for line in arguments)
    return f"\b\nExamples:\n{lines}"
