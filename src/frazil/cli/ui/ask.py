"""Question before something that cannot be taken back."""

from __future__ import annotations

import sys

import typer

from frazil.errors import UsageError


def agreed(question: str, otherwise: str) -> bool:
    """Whether the user says yes; Ctrl+C ends the program as everywhere.

    Raises UsageError with `otherwise` where nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise UsageError(otherwise)
    try:
        return typer.confirm(question)
    except typer.Abort as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
