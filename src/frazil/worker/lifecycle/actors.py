"""The connectors that run on this worker, one actor for each."""

import itertools
import logging
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import TypeVar

from frazil.connectors.keys.framework import MOST_TASKS
from frazil.declare.providers import ConfigProviders
from frazil.engine.runner_api import RunnerFactory
from frazil.worker.lifecycle.actor import ActorStatus, ConnectorActor, Observe, Wanted
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.store import StoredConnector
from frazil.worker.lifecycle.threads import ActorThreads

logger = logging.getLogger(__name__)

T = TypeVar("T")

_ENDS = 0.1
"""The part of the time for stopping that an actor has to end, once its runner has stopped."""


class Actors:
    """Starts, changes and ends actors. Calls for one connector must not overlap; `status` may be called at any time."""

    def __init__(
        self, factory: RunnerFactory, policy: RestartPolicy, providers: ConfigProviders, observe: Observe
    ) -> None:
        self._factory = factory
        self._policy = policy
        self._providers = providers
        self._observe = observe
        self._threads = ActorThreads()
        self._generations = itertools.count(1)
        self._wanted: dict[str, Wanted] = {}
        self._actors: dict[str, ConnectorActor] = {}

    def names(self) -> set[str]:
        """Connectors that are to run here."""
        return set(self._wanted)

    def has(self, name: str) -> bool:
        """Whether the connector is to run here."""
        return name in self._wanted

    def apply(self, name: str, stored: StoredConnector, renew: bool, tasks_only: bool = False) -> None:
        """Bring a connector to what is stored of it; `renew` starts it anew in any case, or its tasks alone."""
        before = self._wanted.get(name)
        generation = next(self._generations) if renew or before is None else before.generation
        wanted = Wanted(stored.config, _tasks_max(stored.config), stored.target_state, generation, tasks_only)
        self._wanted[name] = wanted
        actor = self._actors.get(name)
        if actor is None or not actor.want(wanted):
            self._actors[name] = ConnectorActor(
                name, wanted, self._factory, self._policy, self._providers, self._threads, self._observe, after=actor
            )

    def remove(self, name: str) -> None:
        """End a connector that was deleted; it stops afterwards."""
        if self._wanted.pop(name, None) is not None:
            self._actors[name].want(None)

    def release(self, names: Collection[str], timeout: float) -> bool:
        """Stop connectors that are not to run here any more, within `timeout` seconds.

        False when some did not stop: they go on to, and what they had not committed is read again elsewhere.
        """
        deadline = time.monotonic() + timeout
        actors = {name: self._actors[name] for name in names if name in self._actors}
        for name in names:
            self._wanted.pop(name, None)
        return _close(actors, deadline, timeout)

    def close(self, timeout: float) -> bool:
        """Stop all connectors within `timeout` seconds; False when some did not."""
        stopped = _close(dict(self._actors), time.monotonic() + timeout, timeout)
        if stopped:
            self._threads.close()
        return stopped

    def status(self, name: str) -> ActorStatus | None:
        """Status of a connector; None when it is not to run here."""
        actor = self._actors.get(name) if name in self._wanted else None
        return None if actor is None else actor.status()

    def restarts(self) -> dict[str, int]:
        """Starts of each connector by itself, after failures that may pass."""
        return {name: actor.restarts for name, actor in self._actors.copy().items()}

    def while_stopped(self, name: str, action: Callable[[], T]) -> Future[T]:
        """See `ConnectorActor.while_stopped`; raises KeyError when the connector is not to run here."""
        return self._actors[name].while_stopped(action)


def _close(actors: Mapping[str, ConnectorActor], deadline: float, timeout: float) -> bool:
    for actor in actors.values():
        actor.close(deadline - _ENDS * timeout)
    late = [name for name, actor in actors.items() if not actor.join(deadline)]
    if late:
        logger.error(
            "connectors that did not stop within %g s: %s; what they had not committed is read again where they run "
            "next",
            timeout,
            ", ".join(sorted(late)),
        )
    return not late


def _tasks_max(config: Mapping[str, str]) -> int:
    """A stored value that is wrong fails the connector with a reason when it starts, not the worker."""
    try:
        return min(int(config.get("tasks.max", "1")), MOST_TASKS)
    except ValueError:
        return 1
