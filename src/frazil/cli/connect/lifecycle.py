"""The verbs `pause` and `resume`, and what `stop` and `restart` do to connectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import typer

from frazil.cli.connect.session import ContextOption, NamesArgument, RegexOption, chosen, connect, for_each
from frazil.cli.ui.usage import add_group
from frazil.errors import UsageError

if TYPE_CHECKING:
    from frazil.clients.connect import ConnectClient

CONNECTOR, TASK = ("connector", "connectors"), ("task", "tasks")


def register(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    for verb, command, text in (
        ("pause", pause_connector, "Pause connectors: they keep their tasks and read nothing."),
        ("resume", resume_connector, "Let paused or stopped connectors read again."),
    ):
        one, several = f"{verb} connector iceberg-sink-apilogs", f"{verb} connector 'iceberg-.*' -e"
        add_group(app, verb, text, (one,), {"connector": (command, (one, several))})


def pause_connector(names: NamesArgument, regex: RegexOption = False, context: ContextOption = None) -> None:
    """Stop reading and keep the tasks; the batch that runs is finished."""
    _each(names, regex, context, lambda client, name: client.pause(name), "pausing")


def resume_connector(names: NamesArgument, regex: RegexOption = False, context: ContextOption = None) -> None:
    """Read again from where the connector was."""
    _each(names, regex, context, lambda client, name: client.resume(name), "resuming")


def stop_connectors(names: Sequence[str], regex: bool, context: str | None) -> None:
    """Stop connectors and give up their tasks, so that their positions can be moved."""
    _each(names, regex, context, lambda client, name: client.stop(name), "stopping")


def restart_connectors(names: Sequence[str], regex: bool, context: str | None, *, only_failed: bool) -> None:
    """Restart connectors and their tasks, or only what of them has failed."""
    with connect(context) as client:

        def restarted(name: str) -> str:
            return "restarting" if client.restart(name, only_failed=only_failed) else "nothing of it has failed"

        for_each(chosen(client, names, regex), restarted)


def restart_tasks(names: Sequence[str], context: str | None) -> None:
    """Restart tasks, given as NAME/NUMBER."""
    wanted = {}
    for text in names:
        connector, slash, number = text.rpartition("/")
        if not (slash and connector and number.isascii() and number.isdigit()):
            raise UsageError(f"{text}: expected CONNECTOR/NUMBER, as in iceberg-sink-apilogs/0. Nothing was restarted.")
        wanted[text] = connector, int(number)
    with connect(context) as client:

        def restarted(text: str) -> str:
            client.restart_task(*wanted[text])
            return "restarting"

        for_each(wanted, restarted)


def _each(
    names: Sequence[str],
    regex: bool,
    context: str | None,
    action: Callable[[ConnectClient, str], None],
    done: str,
) -> None:
    with connect(context) as client:

        def acted(name: str) -> str:
            action(client, name)
            return done

        for_each(chosen(client, names, regex), acted)
