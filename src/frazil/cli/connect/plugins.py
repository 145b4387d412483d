"""The verbs `plugins` and `loggers`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from frazil.cli.connect.output import Output, OutputOption, show
from frazil.cli.connect.session import ContextOption, connect
from frazil.cli.ui.usage import examples
from frazil.errors import NotFound, UsageError
from frazil.text.instants import shown


class Level(StrEnum):
    """Levels of Log4j."""

    OFF = "OFF"
    FATAL = "FATAL"
    ERROR = "ERROR"
    WARN = "WARN"
    INFO = "INFO"
    DEBUG = "DEBUG"
    TRACE = "TRACE"


class Scope(StrEnum):
    """Reach of a log level."""

    WORKER = "worker"
    CLUSTER = "cluster"


def register(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command(epilog=examples("plugins", "plugins --all -o json"))(plugins)
    app.command(
        epilog=examples(
            "loggers", "loggers frazil.worker", "loggers frazil.worker DEBUG", "loggers root INFO --scope cluster"
        )
    )(loggers)


def plugins(
    every: Annotated[bool, typer.Option("--all", help="Also converters, transformations and predicates.")] = False,
    output: OutputOption = Output.TABLE,
    context: ContextOption = None,
) -> None:
    """List the plugins of the worker."""
    with connect(context) as client:
        found = client.plugins(connectors_only=not every)
    rows = [(plugin["class"], plugin["type"], plugin.get("version") or "-") for plugin in found]
    show(output, found, ("class", "type", "version"), rows)


def loggers(
    name: Annotated[str | None, typer.Argument(help="Logger, with those below it; all when left out.")] = None,
    level: Annotated[Level | None, typer.Argument(help="Level to set; without it levels are shown.")] = None,
    scope: Annotated[
        Scope | None, typer.Option("--scope", help="With a level: this worker, or all of the cluster.")
    ] = None,
    output: OutputOption = Output.TABLE,
    context: ContextOption = None,
) -> None:
    """Show the worker's log levels, or set one until it ends."""
    if level is None and scope is not None:
        raise UsageError("--scope is for setting a level; levels that are shown are those of one worker")
    with connect(context) as client:
        if name is not None and level is not None:
            changed = client.set_logger(name, level.value, (scope or Scope.WORKER).value)
            reach = "on every worker" if scope is Scope.CLUSTER else ", ".join(changed) or "nothing changed"
            typer.echo(f"{name}: {level.value} ({reach})")
            return
        found = client.loggers()
    if name is not None:
        found = {key: value for key, value in found.items() if f"{key}.".startswith(f"{name}.")}
        if not found:
            raise NotFound(f"there is no logger {name} or below it; `loggers` lists them")
    rows = [(key, value["level"], _time(value.get("last_modified"))) for key, value in found.items()]
    show(output, found, ("logger", "level", "changed"), rows)


def _time(milliseconds: int | None) -> str:
    if milliseconds is None:
        return "-"
    return shown(milliseconds)
