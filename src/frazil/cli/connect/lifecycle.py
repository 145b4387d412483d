"""The verbs `pause`, `resume` and `wait`, and what `stop` and `restart` do to connectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.connect.session import ContextOption, NamesArgument, RegexOption, chosen, connect, for_each
from frazil.cli.ui.program import group
from frazil.errors import ServiceUnavailable, TerminalError, UsageError

if TYPE_CHECKING:
    from frazil.clients.connect import ConnectClient

_POLL_S = 0.5
_FAILED = "FAILED"
CONNECTOR, TASK = ("connector", "connectors"), ("task", "tasks")

_PAUSE, _RESUME = "pause connector iceberg-sink-apilogs", "resume connector iceberg-sink-apilogs"
_WAIT = "wait connector iceberg-sink-apilogs --for STOPPED"
_pause = group("pause", "Pause connectors: they keep their tasks and read nothing.", _PAUSE)
_resume = group("resume", "Let paused or stopped connectors read again.", _RESUME)
_wait = group("wait", "Wait until connectors are in a state.", _WAIT)


@_pause("connector", _PAUSE, "pause connector 'iceberg-.*' -e")
def pause_connector(names: NamesArgument, regex: RegexOption = False, context: ContextOption = None) -> None:
    """Stop reading and keep the tasks; the batch that runs is finished."""
    _each(names, regex, context, lambda client, name: client.pause(name), "pausing")


@_resume("connector", _RESUME, "resume connector 'iceberg-.*' -e")
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
    names: Sequence[str], regex: bool, context: str | None, action: Callable[[ConnectClient, str], None], done: str
) -> None:
    with connect(context) as client:

        def acted(name: str) -> str:
            action(client, name)
            return done

        for_each(chosen(client, names, regex), acted)


class State(StrEnum):
    """States that a connector stays in."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@_wait("connector", _WAIT, "wait connector 'iceberg-.*' -e --for RUNNING")
def wait_connector(
    names: NamesArgument,
    state: Annotated[State, typer.Option("--for", help="The state to wait for.", case_sensitive=False)],
    timeout: Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait at most.")] = 120,
    regex: RegexOption = False,
    context: ContextOption = None,
) -> None:
    """Wait until connectors and their tasks are in a state: `pause`, `resume` and `stop` answer before they are.

    The exit code is 1 when one fails meanwhile, or is not there in time.
    """
    deadline = time.monotonic() + timeout
    with connect(context) as client:
        for_each(chosen(client, names, regex), lambda name: _awaited(client, name, state, deadline))


def _awaited(client: ConnectClient, name: str, wanted: State, deadline: float) -> str:
    while True:
        status = client.status(name)
        parts = [status["connector"], *status["tasks"]]
        if _reached(status, wanted):
            return wanted.value
        failure = next((part for part in parts if part["state"] == _FAILED), None)
        if failure is not None:
            raise TerminalError(f"it is {_FAILED}: {failure.get('trace', '').partition(chr(10))[0]}")
        if time.monotonic() >= deadline:
            now = " ".join(part["state"] for part in parts)
            raise ServiceUnavailable(f"it is {now}, and not {wanted.value} yet; `describe connector {name}` says more")
        time.sleep(_POLL_S)


def _reached(status: dict[str, Any], wanted: State) -> bool:
    tasks = [task["state"] for task in status["tasks"]]
    there = not tasks if wanted is State.STOPPED else set(tasks) == {wanted.value}
    return bool(status["connector"]["state"] == wanted.value and there)
