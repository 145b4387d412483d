"""The verb `wait`: until connectors are in a state."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.connect.session import ContextOption, NamesArgument, RegexOption, chosen, connect, for_each
from frazil.cli.ui.usage import add_group
from frazil.errors import ServiceUnavailable, TerminalError

if TYPE_CHECKING:
    from frazil.clients.connect import ConnectClient

_POLL_S = 0.5
_FAILED = "FAILED"


class State(StrEnum):
    """States that a connector stays in."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    one = "wait connector iceberg-sink-apilogs --for STOPPED"
    several = "wait connector 'iceberg-.*' -e --for RUNNING"
    text = "Wait until connectors are in a state."
    add_group(app, "wait", text, (one,), {"connector": (wait_connector, (one, several))})


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
