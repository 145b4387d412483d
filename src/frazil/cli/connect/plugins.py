"""The verbs `plugins` and `loggers`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from frazil.cli.connect.session import ContextOption, connect
from frazil.cli.ui.console import make_console
from frazil.cli.ui.output import ListOption, Output, show
from frazil.cli.ui.program import group, verb
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
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


_INSTALLS = ("plugins install debezium-postgres", "plugins install file mirror")
_WANTED = Annotated[list[str], typer.Argument(help="Plugins by the names that `plugins list` shows.")]
_All = Annotated[bool, typer.Option("--all", help="Also converters, transformations and predicates.")]


def plugins(
    ctx: typer.Context,
    every: _All = False,
    output: ListOption = Output.TABLE,
    context: ContextOption = None,
) -> None:
    """List the plugins of the worker, or install some of Kafka Connect."""
    if ctx.invoked_subcommand is None:
        list_plugins(every, output, context)


def list_plugins(every: _All = False, output: ListOption = Output.TABLE, context: ContextOption = None) -> None:
    """List the plugins of the worker."""
    with connect(context) as client:
        found = client.plugins(connectors_only=not every)
    rows = [(plugin["class"], plugin["type"], plugin.get("version") or "-") for plugin in found]
    show(output, found, ("class", "type", "version"), rows)


_plugins = group(
    "plugins",
    "List the plugins of the worker, or install some of Kafka Connect.",
    "plugins",
    "plugins --all -o json",
    *_INSTALLS,
    alone=plugins,
)


@_plugins("install", *_INSTALLS)
def install(names: _WANTED) -> None:
    """Fetch plugins of Kafka Connect from Maven Central and put them into the plugin path of this home.

    Each jar is compared with a checksum that comes with frazil. A worker of this home has a plugin at once; its runtime
    of source connectors, where it runs already, starts anew with the first connector that asks for it.
    """
    from frazil.stack.plugins import install_plugin, jar_set_of, plugin_folder

    settings = Settings.load()
    for name in names:
        jar_set_of(name)
    for name in names:
        with progress(make_console(stderr=True)) as show_step:
            new = install_plugin(settings, name, show_step)
        typer.echo(f"{name}: {'installed in' if new else 'is installed already in'} {plugin_folder(settings) / name}")
    if settings.source_connect_url:
        typer.echo(f"Source connectors run on {settings.source_connect_url}, which takes its plugins from elsewhere.")


@_plugins("list", "plugins list")
def installable(output: ListOption = Output.TABLE) -> None:
    """List the plugins that can be installed, and whether they are."""
    from frazil.stack.plugins import PLUGINS, is_installed

    settings = Settings.load()
    found = [
        {
            "name": name,
            "version": _version(jars.coordinates),
            "installed": is_installed(settings, name),
        }
        for name, jars in PLUGINS.items()
    ]
    rows = [(one["name"], one["version"], "yes" if one["installed"] else "no") for one in found]
    show(output, found, ("plugin", "version", "installed"), rows)


def _version(coordinates: Sequence[str]) -> str:
    """Version of the jar with the connector."""
    return next(one for one in coordinates if ":debezium-connector-" in one or ":connect-" in one).split(":")[2]


@_plugins("remove", "plugins remove debezium-postgres")
def remove(names: _WANTED) -> None:
    """Take plugins out of this home; a connector that runs goes on until its runtime starts again."""
    from frazil.stack.plugins import jar_set_of, remove_plugin

    settings = Settings.load()
    for name in names:
        jar_set_of(name)
    for name in names:
        typer.echo(f"{name}: {'removed' if remove_plugin(settings, name) else 'was not installed'}")


@verb("loggers", "loggers frazil.worker", "loggers frazil.worker DEBUG", "loggers root INFO --scope cluster")
def loggers(
    name: Annotated[str | None, typer.Argument(help="Logger, with those below it; all when left out.")] = None,
    level: Annotated[Level | None, typer.Argument(help="Level to set; without it levels are shown.")] = None,
    scope: Annotated[
        Scope | None, typer.Option("--scope", help="With a level: this worker, or all of the cluster.")
    ] = None,
    output: ListOption = Output.TABLE,
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
