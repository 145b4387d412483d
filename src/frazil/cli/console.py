"""Where the verbs print: one way to make a console."""

from __future__ import annotations

import os
from typing import IO

from rich.console import Console

# Wider than any line: nothing is wrapped.
_UNLIMITED = 1_000_000


def make_console(*, stderr: bool = False) -> Console:
    """A console that prints text as it is, without markup.

    It is as wide as the terminal; where there is none lines stay whole, so that programs can read them. The
    environment variable `COLUMNS` sets another width for both.
    """
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = _UNLIMITED
    return console


def file_console(file: IO[str]) -> Console:
    """A console on a file: whole lines, no colours."""
    return Console(
        file=file, markup=False, highlight=False, emoji=False, width=_UNLIMITED, force_terminal=False, no_color=True
    )
