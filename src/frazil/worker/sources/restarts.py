"""Restarts of source connectors and their tasks that have failed, which Kafka Connect leaves to its users."""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from frazil.connectors.debezium_keys import waits_for_user
from frazil.text.events import event
from frazil.text.quoting import segment
from frazil.worker.lifecycle.restart_policy import RestartPolicy

logger = logging.getLogger(__name__)

_POLICY = RestartPolicy(first_s=5.0, longest_s=300.0, attempts=10)
"""A source reads some of its records again after a restart, so one that never runs is left alone after 25 minutes."""


@dataclass
class _Part:
    """A connector or a task that has failed: `failures` in a row, the last restart, and when the next one is due.

    `due_s` is None while it runs, infinite when it stays as it is.
    """

    failures: int = 0
    started_s: float = 0.0
    due_s: float | None = None


class SourceRestarts:
    """Starts what has failed in a runtime again, after longer and longer waits.

    What fails for a known reason that does not pass by itself is left to the user; so is what has failed too often in a
    row. The keys `frazil.restart.…` of a connector count.
    """

    def __init__(self, call: Callable[[str, str], httpx.Response]) -> None:
        """`call` sends a request to the runtime: method and path."""
        self._call = call
        self._parts: dict[str, _Part] = {}

    def look(self, now_s: float) -> None:
        """Start again what is due, by a clock that only goes forward. Raises as `call` does."""
        found = self._call("GET", "/connectors?expand=info&expand=status")
        if not found.is_success:  # it is starting
            return
        seen = {}
        for name, entry in found.json().items():
            policy = _POLICY.of(entry.get("info", {}).get("config", {}))
            for path, part in _parts(name, entry.get("status", {})):
                seen[path] = self._parts.get(path) or _Part()
                if part["state"] == "FAILED":
                    self._failed(name, path, seen[path], part.get("trace", ""), policy, now_s)
                elif seen[path].due_s is not None or now_s - seen[path].started_s >= policy.healthy_s:
                    seen[path] = _Part(started_s=now_s)
        self._parts = seen

    def _failed(self, name: str, path: str, part: _Part, trace: str, policy: RestartPolicy, now_s: float) -> None:
        if part.due_s is None:
            part.failures += 1
            again = policy.passes(part.failures, transient=not waits_for_user(trace), fenced=False)
            part.due_s = now_s + policy.wait_s(part.failures) if again else float("inf")
            then = f"it is started again in {policy.wait_s(part.failures):.0f} s" if again else "it stays so"
            reason = trace.partition("\n")[0]
            logger.error("%s has failed, and %s: %s", path.removeprefix("/"), then, reason, extra=event("failed", name))
        elif now_s >= part.due_s:
            part.due_s, part.started_s = None, now_s
            self._call("POST", f"{path}/restart")


def _parts(name: str, status: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Paths and states of a connector and of its tasks; none of one whose status is not there yet."""
    path = f"/connectors/{segment(name)}"
    if "connector" in status:
        yield path, status["connector"]
    for task in status.get("tasks", ()):
        yield f"{path}/tasks/{task['id']}", task
