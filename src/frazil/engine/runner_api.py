"""What the herder asks of a runner: the contract between connector lifecycle and the streaming query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

State = Literal["UNASSIGNED", "RUNNING", "FAILED", "PAUSED", "STOPPED", "RESTARTING"]
TargetState = Literal["RUNNING", "PAUSED", "STOPPED"]


STOP_S = 10.0
"""So long a query has to end, in seconds; a batch that runs longer is given up, and its records are read again."""


@dataclass(frozen=True)
class RunnerStatus:
    """State of a started query. `trace` belongs to FAILED, its first line says what happened, and to RESTARTING: the
    runner tries again by itself what it says.

    `transient` tells that the failure was a TransientError: the herder starts the query again by itself. `fenced` tells
    that it was Fenced: somebody else has written what this query had read.
    """

    state: State
    trace: str | None = None
    transient: bool = False
    fenced: bool = False


class Runner(Protocol):
    """One connector as one streaming query. `start` and `stop` are called from one thread, `status` from any."""

    def start(self) -> None:
        """Return when the query runs; raises FrazilError when it cannot."""

    def stop(self, timeout: float = STOP_S) -> None:
        """End the query within `timeout` seconds, and let the running batch finish if it can; idempotent."""

    def status(self) -> RunnerStatus:
        """RUNNING, or RESTARTING or FAILED with trace, once started."""
        ...


RunnerFactory = Callable[[str, Mapping[str, str]], Runner]
"""Makes the runner of a connector from its name and configuration; may raise FrazilError."""
