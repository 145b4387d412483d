"""Name of the program in help texts, and the examples below them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import typer

PROGRAM = os.environ.get("FRAZIL_PROGRAM") or "frazil"
"""The command as the user has typed it; the start script passes its own name on."""


def examples(*arguments: str) -> str:
    """Text below the help of a verb; each example is what follows the program's name."""
    lines = "\n".join(f"  {PROGRAM} {line}" for line in arguments)
    return f"\b\nExamples:\n{lines}"


def add_group(
    app: typer.Typer,
    name: str,
    text: str,
    shown: tuple[str, ...],
    verbs: Mapping[str, tuple[Callable[..., None], tuple[str, ...]]],
) -> None:
    """Add a verb that has verbs of its own, each with its examples; `text` and the examples `shown` are its help."""
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
    )
    for own, (command, lines) in verbs.items():
        group.command(own, epilog=examples(*lines))(command)
    app.add_typer(group, name=name, help=text, epilog=examples(*shown))
