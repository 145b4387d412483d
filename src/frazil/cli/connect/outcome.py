"""State of connectors that a verb has created, changed or started: they run, or have failed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import typer

from frazil.errors import NotFound, tells_ways_on

if TYPE_CHECKING:
    from frazil.clients.connect import ConnectClient

BEGINNING = ("RESTARTING", "UNASSIGNED")
"""States that a connector does not stay in."""
FAILED = "FAILED"
_SETTLED_S = 15.0
_LOOK_S = 0.25


def parts_of(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A connector and its tasks, each with its state."""
    return [status["connector"], *status["tasks"]]


def failure_of(status: Mapping[str, Any]) -> str | None:
    """The reason for which a connector or one of its tasks is FAILED; None when none is."""
    failed = next((part for part in parts_of(status) if part["state"] == FAILED), None)
    return None if failed is None else reason_of(failed)


def reason_of(part: Mapping[str, Any]) -> str:
    """The first line of a trace; empty when there is none."""
    return str(part.get("trace") or "").partition("\n")[0]


def has_failed(client: ConnectClient, name: str) -> bool:
    """Whether a connector or one of its tasks is FAILED."""
    status = _status(client, name)
    return status is not None and failure_of(status) is not None


def tell_failed(client: ConnectClient, names: Iterable[str], *, changed: bool = True) -> int:
    """Wait until connectors run or have failed, 15 s at most, and tell those that do not run; how many have failed.

    Where one was `changed`, their worker has time to see it before it is asked.
    """
    waiting = list(dict.fromkeys(names))
    if waiting and changed:
        time.sleep(2 * _LOOK_S)
    deadline, failed = time.monotonic() + _SETTLED_S, 0
    while waiting:
        late = time.monotonic() >= deadline
        for name in tuple(waiting):
            status = _status(client, name)
            if not late and not _is_settled(status):
                continue
            waiting.remove(name)
            line = _line(name, status)
            failed += status is not None and failure_of(status) is not None
            if line:
                typer.echo(f"frazil: {name} {line}", err=True)
        if waiting:
            time.sleep(_LOOK_S)
    return failed


def _status(client: ConnectClient, name: str) -> dict[str, Any] | None:
    try:
        return client.status(name)
    except NotFound:  # Kafka Connect has none before a worker has begun to run it
        return None


def _is_settled(status: Mapping[str, Any] | None) -> bool:
    if status is None:
        return False
    own, states = status["connector"]["state"], [part["state"] for part in parts_of(status)]
    return FAILED in states or (not set(states) & set(BEGINNING) and (bool(status["tasks"]) or own != "RUNNING"))


def _line(name: str, status: Mapping[str, Any] | None) -> str:
    """State and next step of a connector that does not run; empty when it does as it should."""
    failure = None if status is None else failure_of(status)
    if failure is not None:
        if tells_ways_on(failure):
            return f"is {FAILED}: {failure}"
        return f"is {FAILED}: {failure.rstrip('.')}. Correct that, then `restart connector {name}`"
    if status is not None and _is_settled(status):
        return ""
    begins = [part for part in parts_of(status) if part["state"] in BEGINNING] if status else []
    state = begins[0]["state"] if begins else "UNASSIGNED"
    why = next((f": {reason_of(part).rstrip('.')}" for part in begins if reason_of(part)), "")
    return f"is {state} yet{why}. `wait connector {name} --for RUNNING` waits for it"
