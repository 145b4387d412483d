"""Program as its general help shows it: verbs in groups, and mistakes of a command line in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from frazil.cli.ui.usage import PROGRAM

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Stack": ("start", "stop", "restart", "status", "logs", "clean", "worker", "demo"),
    "Connectors": (
        *("get", "describe", "validate", "apply", "patch", "delete", "pause", "resume", "wait", "offsets"),
        *("verify", "deadletters", "plugins", "loggers", "context"),
    ),
    "Tables": ("query", "sql", "maintain", "publish"),
    "MinIO's logs": ("init", "produce", "generate", "continuous", "ask", "report"),
    "Helpers": ("password", "completion"),
}
_PLAIN = {
    "int_parsing": "{input!r} is not a whole number",
    "int_from_float": "{input!r} is not a whole number",
    "float_parsing": "{input!r} is not a number",
    "greater_than_equal": "{input!r} is less than {ge:g}",
    "less_than_equal": "{input!r} is more than {le:g}",
    "value_error": "{error}",
}


class Program(TyperGroup):
    """Group of all verbs."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs below the names of their groups."""
        listed = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        known = {name for names in GROUPS.values() for name in names}
        others = tuple(name for name in listed if name not in known)
        longest = max(map(len, listed))
        for title, names in {**GROUPS, "Others": others}.items():
            found = [(name, listed[name]) for name in names if name in listed]
            if found:
                with formatter.section(title):
                    rows = [(name.ljust(longest), verb.get_short_help_str(100)) for name, verb in found if verb]
                    formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run a verb; a value of an option that is none is told in the words of this program."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            reasons = getattr(error.__cause__, "errors", None)
            if reasons is not None:
                error.message = "; ".join(map(_plain, reasons()))
            raise


def _plain(reason: Mapping[str, Any]) -> str:
    form = _PLAIN.get(reason["type"])
    if form is None:
        return str(reason["msg"])
    return form.format(input=reason["input"], **reason.get("ctx", {})).rstrip(".")


HELP = (
    "Kafka topics become Iceberg tables, Delta tables or objects, each record once; connectors are those of Kafka "
    f"Connect. `{PROGRAM} start` starts all parts on this machine, `{PROGRAM} demo` shows them with logs of MinIO."
)
