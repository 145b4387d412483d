"""The contract between the lifecycle of a connector and what runs it: an actor asks, a runner does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from frazil.declare.providers import Resolved
from frazil.pipeline.offsets import Offsets

State = Literal["UNASSIGNED", "RUNNING", "FAILED", "PAUSED", "STOPPED", "RESTARTING"]
TargetState = Literal["RUNNING", "PAUSED", "STOPPED"]


STOP_S = 10.0
"""Seconds that a runner has to end; a batch that takes longer is given up, and its records are read again."""


@dataclass(frozen=True)
class RunnerStatus:
    """State of a started runner. `trace` belongs to FAILED, its first line says what happened.

    `transient` tells that the failure was a TransientError: the actor starts another runner by itself. `fenced` tells
    that it was Fenced: somebody else has written what this connector had read. `outgrown` tells that it was
    PartitionsAdded, which is no failure: the actor starts another runner at once.
    """

    state: State
    trace: str | None = None
    transient: bool = False
    fenced: bool = False
    outgrown: bool = False


@dataclass(frozen=True)
class Progress:
    """Next offsets that are stored, and the ends of the partitions when they were looked at last."""

    position: Offsets
    ends: Offsets

    def lag(self) -> Offsets:
        """Records that are not stored yet, by topic and partition."""
        return {key: max(0, end - self.position.get(key, 0)) for key, end in self.ends.items()}


class Runner(Protocol):
    """Connector that runs. `start` and `stop` are called from one thread at a time, `status` from any."""

    def start(self) -> None:
        """Return when the connector runs; raises FrazilError when it cannot."""

    def stop(self, timeout: float = STOP_S) -> None:
        """End within `timeout` seconds, and let the running batch finish if it can; idempotent."""

    def status(self) -> RunnerStatus:
        """RUNNING, or FAILED with trace, once started."""
        ...


RunnerFactory = Callable[[str, Resolved, Callable[[], None]], Runner]
"""Makes the runner of a connector from its name and its configuration without placeholders; may raise FrazilError.

The third argument is called by the runner, from any thread, when its status has changed; it returns at once.
"""
