"""Shapes in which connectors are shown: configuration, state, and where they run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from frazil.engine.runner_api import State, TargetState

_TROUBLE: tuple[State, ...] = ("FAILED", "RESTARTING", "UNASSIGNED")


@dataclass(frozen=True)
class ConnectorInfo:
    """A connector as GET /connectors/{name} shows it."""

    name: str
    config: Mapping[str, str]
    tasks: int
    type: str
    target_state: TargetState


@dataclass(frozen=True)
class OwnStatus:
    """State of a connector or task, and the worker (host:port) that runs it; `trace` is why it fails or restarts."""

    state: State
    worker_id: str
    trace: str | None = None


@dataclass(frozen=True, kw_only=True)
class ConnectorStatus(OwnStatus):
    """State of a connector, and of its tasks by their ids, in order."""

    name: str
    tasks: Mapping[int, OwnStatus]
    type: str

    @property
    def overall(self) -> State:
        """State for an operator: that of tasks that do not run, else that of the connector."""
        states = [task.state for task in self.tasks.values()] if self.state == "RUNNING" else []
        return next((state for state in _TROUBLE if state in states), self.state)


class StatusBoard(Protocol):
    """Board on which the workers of a group tell each other what their connectors do."""

    def publish(self, status: ConnectorStatus) -> None:
        """Tell the state of a connector of this worker; returns at once."""

    def of(self, name: str) -> ConnectorStatus | None:
        """The state that was published last of a connector, without its type; None when there is none."""
        ...

    def forget(self, name: str) -> None:
        """Remove the state of a connector that does not exist any more."""
