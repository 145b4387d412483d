"""The verbs `get` and `describe`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.connect.offsets import get as show_offsets
from frazil.cli.connect.outcome import reason_of
from frazil.cli.connect.plugins import list_plugins as show_plugins
from frazil.cli.connect.plugins import loggers as show_loggers
from frazil.cli.connect.session import (
    ContextOption,
    NamesArgument,
    RegexOption,
    chosen,
    complete_connectors,
    connect,
)
from frazil.cli.connect.shown import shown_config
from frazil.cli.ui.output import ListOption, Output, OutputOption, as_text, show, show_table
from frazil.cli.ui.program import group
from frazil.clients.postgres import replication_slot
from frazil.connectors.debezium_slot import slot_of, slot_text
from frazil.declare.placeholders import has_placeholder
from frazil.errors import FrazilError

if TYPE_CHECKING:
    from prometheus_client import Metric

NameArgument = Annotated[str, typer.Argument(help="Connector.", autocompletion=complete_connectors)]

_SINK, _KEYS = "describe connector iceberg-sink-apilogs", "describe plugin IcebergSinkConnector"
_get = group(
    "get",
    "List connectors, tasks, topics, offsets, plugins, loggers.",
    "get connectors",
    "get offsets iceberg-sink-apilogs",
    "get plugins -o yaml",
)
_describe_one = group("describe", "Show all of a connector or the keys of a plugin.", _SINK, _KEYS)


@_get("connectors", "get connectors", "get connectors -o json", "get connectors 'iceberg-.*' -e")
def connectors(
    names: Annotated[
        list[str] | None, typer.Argument(help="Connectors; all when left out.", autocompletion=complete_connectors)
    ] = None,
    regex: RegexOption = False,
    output: ListOption = Output.TABLE,
    context: ContextOption = None,
) -> None:
    """List connectors with their states."""
    with connect(context) as client:
        found = {name: _one(client, name) for name in chosen(client, names, regex)} if names else client.expanded()
    rows = []
    for name, entry in sorted(found.items()):
        status = entry["status"]
        tasks = " ".join(task["state"] for task in status["tasks"]) or "-"
        rows.append((name, status["type"], status["connector"]["state"], tasks, status["connector"]["worker_id"]))
    show(output, found, ("name", "type", "state", "tasks", "worker"), rows)


def _one(client: Any, name: str) -> dict[str, Any]:
    return {"status": client.status(name), "info": client.info(name)}


@_get("tasks", "get tasks iceberg-sink-apilogs")
def tasks(name: NameArgument, output: ListOption = Output.TABLE, context: ContextOption = None) -> None:
    """List the tasks of a connector with their states."""
    with connect(context) as client:
        found = client.status(name)["tasks"]
    rows = [(f"{name}-{t['id']}", t["state"], t["worker_id"], reason_of(t)) for t in found]
    show(output, found, ("task", "state", "worker", "reason"), rows)


@_get("topics", "get topics iceberg-sink-apilogs")
def topics(name: NameArgument, output: ListOption = Output.TABLE, context: ContextOption = None) -> None:
    """List the topics that a connector has used."""
    with connect(context) as client:
        found = client.topics(name)
    show(output, found, ("topic",), [(topic,) for topic in found])


_get("offsets", "get offsets iceberg-sink-apilogs", "get offsets iceberg-sink-apilogs -o json")(show_offsets)
_get("plugins", "get plugins", "get plugins --all")(show_plugins)


@_get("loggers", "get loggers", "get loggers org.apache.kafka")
def loggers(
    name: Annotated[str | None, typer.Argument(help="Logger, with those below it; all when left out.")] = None,
    output: ListOption = Output.TABLE,
    context: ContextOption = None,
) -> None:
    """List the worker's loggers with their levels."""
    show_loggers(name, None, None, output, context)


@_get("worker", "get worker")
def worker(output: OutputOption = Output.TABLE, context: ContextOption = None) -> None:
    """Show version and Kafka cluster of the worker."""
    with connect(context) as client:
        found = client.root()
    show(output, found, ("what", "value"), list(found.items()))


@_describe_one("connector", _SINK, "describe connector 'iceberg-.*' -e -o yaml")
def connector(
    names: NamesArgument, regex: RegexOption = False, output: OutputOption = Output.TABLE, context: ContextOption = None
) -> None:
    """Show state, lag, configuration, tasks and topics of connectors.

    The table hides secrets; JSON and YAML show the configuration as it is stored, so that it can be applied again.
    """
    from frazil.errors import TerminalError

    found = []
    with connect(context) as client:
        for name in chosen(client, names, regex):
            entry = {**client.info(name), "status": client.status(name)}
            try:
                entry["topics"] = client.topics(name)
            except TerminalError:
                entry["topics"] = None  # a worker that does not track them answers 403
            found.append(entry)
        metrics = client.metrics() if output is Output.TABLE else ()
    if output is not Output.TABLE:
        typer.echo(as_text(found[0] if len(found) == 1 and not regex else found, output))
        return
    for number, entry in enumerate(found):
        if number:
            typer.echo()
        _describe(entry, metrics)


def _describe(entry: dict[str, Any], metrics: Sequence[Metric]) -> None:
    from frazil.connectors.progress import captured, progress
    from frazil.connectors.registry import warnings_of
    from frazil.connectors.statement_state import kept

    status = entry["status"]
    name = entry["name"]
    captures = captured(metrics, entry["config"].get("topic.prefix", ""))
    running = entry["config"] if status["connector"]["state"] == "RUNNING" else {}
    facts = [*captures, *progress(metrics, name, running), *kept(metrics, name)]
    topics = entry["topics"]
    show_table(
        ("connector", name),
        [
            ("type", entry["type"]),
            ("state", status["connector"]["state"]),
            ("worker", status["connector"]["worker_id"]),
            ("topics", "not tracked" if topics is None else " ".join(topics) or "none yet"),
            *((name.lower(), value) for name, value in facts),
            *slot_rows(entry["config"]),
            *((f"task {task['id']}", f"{task['state']} {task['worker_id']}") for task in status["tasks"]),
        ],
    )
    for trace in dict.fromkeys(part.get("trace") for part in (status["connector"], *status["tasks"])):
        if trace:
            typer.echo(f"\n{trace}")
    typer.echo()
    show_table(("key", "value"), shown_config(entry["config"]))
    for warning in warnings_of(entry["config"]):
        typer.echo(f"\n? {warning}")


@_describe_one("plugin", _KEYS)
def plugin(
    name: Annotated[str, typer.Argument(help="Class of the plugin, or its simple name.")],
    output: ListOption = Output.TABLE,
    context: ContextOption = None,
) -> None:
    """Show the keys of a plugin."""
    with connect(context) as client:
        keys = client.plugin_keys(name)
    rows = [
        (
            key["name"],
            key["type"],
            "required" if key["required"] else key["default_value"] or "",
            key["importance"],
            key["documentation"],
        )
        for key in keys
    ]
    show(output, keys, ("key", "type", "default", "importance", "meaning"), rows)


_WAIT_S = 5


def slot_rows(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Ask the database; no row for another connector, or one whose access only the worker knows."""
    place = slot_of(config)
    if place is None or any(has_placeholder(value) for value in place[0].values()):
        return []
    access, name = place
    try:
        slot = replication_slot(access, name, _WAIT_S)
    except FrazilError as error:
        return [("slot", f"{name}: not known, {error}")]
    return [("slot", f"{name}: {'not there' if slot is None else slot_text(slot)}")]
