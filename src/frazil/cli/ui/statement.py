"""Commands whose argument is a SQL statement, which may begin with a comment."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand


class StatementCommand(TyperCommand):
    """Takes `-- comment<newline>SELECT 1` for what it is and not for an option; `--fromat` stays a wrong option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command line."""
        known = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
        return list(super().parse_args(ctx, [_as_argument(argument, known) for argument in args]))


def _as_argument(argument: str, known: set[str]) -> str:
    """A comment with a space before it, which no option begins with."""
    name = re.split(r"[=\s]", argument, maxsplit=1)[0]
    comment = argument.startswith("--") and name not in known and re.search(r"\s", argument) is not None
    return f" {argument}" if comment else argument
