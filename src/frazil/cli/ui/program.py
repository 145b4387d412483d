"""Program and the decorators that add verbs to it: each with examples, in groups, with mistakes told in plain words."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

PROGRAM = os.environ.get("FRAZIL_PROGRAM") or "frazil"
"""The command as the user has typed it; the start script passes its own name on."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Stack": ("start", "stop", "restart", "status", "logs", "clean", "worker", "demo"),
    "Connectors": (
        *(
            "get",
            "describe",
            "validate",
            "explain",
            "apply",
            "diff",
            "export",
            "patch",
            "delete",
            "pause",
            "resume",
            "wait",
            "offsets",
        ),
        *("snapshot", "backfill", "verify", "deadletters", "plugins", "loggers", "backup", "restore", "context"),
    ),
    "Kafka": ("topics", "groups", "produce"),
    "Tables": ("query", "sql", "tables", "maintain", "publish"),
    "MinIO's logs": ("init", "generate", "continuous", "ask", "report"),
    "Trouble": ("events", "doctor", "support-bundle"),
    "Helpers": ("password", "completion", "uninstall"),
}
_PLAIN = {
    "int_parsing": "{input!r} is not a whole number",
    "int_from_float": "{input!r} is not a whole number",
    "float_parsing": "{input!r} is not a number",
    "greater_than_equal": "{input!r} is less than {ge:g}",
    "less_than_equal": "{input!r} is more than {le:g}",
    "value_error": "{error}",
}
_HELP_OPTIONS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
Decorator = Callable[[Callable[..., None]], Callable[..., None]]


class Program(TyperGroup):
    """Group of all verbs."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the verbs in the order of their groups; each has to be in one."""
        return sorted(super().list_commands(ctx), key=[name for names in GROUPS.values() for name in names].index)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs below the names of their groups."""
        longest = max(map(len, self.list_commands(ctx)))
        for title, names in GROUPS.items():
            found = [(name.ljust(longest), self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl([(name, verb.get_short_help_str(100)) for name, verb in found if verb])

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


def examples(*arguments: str) -> str:
    """Text below the help of a verb; each example is what follows the program's name."""
    lines = "\n".join(f"  {PROGRAM} {line}" for line in arguments)
    return f"\b\nExamples:\n{lines}"


app = typer.Typer(
    name="frazil",
    cls=Program,
    help="Kafka topics become Iceberg tables, Delta tables or objects, each record once; connectors are those of Kafka "
    f"Connect. `{PROGRAM} start` starts all parts on this machine, `{PROGRAM} demo` shows them with logs of MinIO.",
    epilog=examples(
        "demo",
        "status",
        "apply -f connectors/",
        'sql "SELECT name, count(*) AS calls FROM apilogs GROUP BY name"',
        "validate -h  # options and examples of one verb",
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_HELP_OPTIONS,
)


def verb(*lines: str, cls: type[TyperCommand] | None = None) -> Decorator:
    """Add a function to the program as a verb of its name; `lines` are its examples."""
    return app.command(cls=cls, epilog=examples(*lines))


def group(name: str, text: str, *lines: str, alone: Callable[..., None] | None = None) -> Callable[..., Decorator]:
    """Add a verb that has verbs of its own; the result adds these, each by its name and with its examples.

    `alone` is called when none of them is given, and has to see to it that it is so; without it the help is shown.
    """
    made = typer.Typer(no_args_is_help=alone is None, rich_markup_mode=None, context_settings=_HELP_OPTIONS)
    if alone is not None:
        made.callback(invoke_without_command=True)(alone)
    app.add_typer(made, name=name, help=text, epilog=examples(*lines))

    def inner(own: str, *shown: str) -> Decorator:
        return made.command(own, epilog=examples(*shown))

    return inner


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"frazil {version('frazil')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself; the text shown as help is `app`'s."""
