"""Lifecycle of connectors: wishes are kept in the store and carried out by one thread per connector."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import TypeVar

from frazil.config.connectors import check_config, connector_of
from frazil.config.definition import invalid_value
from frazil.config.iceberg_sink import invalid_config_message
from frazil.config.providers import ConfigProviders
from frazil.config.validators import non_empty_without_control_chars
from frazil.errors import AlreadyExists, ConfigError, NotFound, ServiceUnavailable
from frazil.worker.actor import ConnectorActor, RestartPolicy, Wanted
from frazil.worker.runner_api import RunnerFactory, State, TargetState
from frazil.worker.store import ConfigStore, StoredConnector

logger = logging.getLogger(__name__)

Config = Mapping[str, str | None]
T = TypeVar("T")

_ACTION_S = 90.0
_NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/{}/stop' endpoint"
)


@dataclass(frozen=True)
class ConnectorInfo:
    """A connector as GET /connectors/{name} shows it (connect-rest.md 3.1)."""

    name: str
    config: Mapping[str, str]
    tasks: int
    type: str
    target_state: TargetState


@dataclass(frozen=True)
class TaskStatus:
    """State of one task; `trace` is of a FAILED or restarting one."""

    id: int
    state: State
    trace: str | None = None


@dataclass(frozen=True)
class ConnectorStatus:
    """State of a connector and of its tasks, sorted by id."""

    name: str
    state: State
    trace: str | None
    tasks: tuple[TaskStatus, ...]
    type: str


class Herder:
    """Creates, changes and removes connectors. Every change is durable before a method returns; starting and
    stopping queries goes on afterwards, and `status` shows how far it is.

    Errors carry the messages of Kafka Connect (connect-rest.md 4.2): NotFound, AlreadyExists, ConfigError.
    """

    def __init__(
        self,
        store: ConfigStore,
        factory: RunnerFactory,
        worker_id: str,
        policy: RestartPolicy | None = None,
        providers: ConfigProviders | None = None,
    ) -> None:
        self.worker_id = worker_id
        self._providers = providers or ConfigProviders()
        self._store = store
        self._factory = factory
        self._policy = policy or RestartPolicy()
        self._lock = threading.RLock()
        self._generations = itertools.count(1)
        self._stored: dict[str, StoredConnector] = {}
        self._wanted: dict[str, Wanted] = {}
        self._actors: dict[str, ConnectorActor] = {}
        self._started = False
        self._closing = False

    @property
    def started(self) -> bool:
        """Whether `start` has read the store."""
        return self._started

    def start(self) -> None:
        """Read the store and start every connector; raises ConfigError when the store cannot be read."""
        with self._lock:
            self._stored = self._store.load()
            for name in self._stored:
                self._apply(name, renew=True)
            self._started = True

    def close(self, timeout: float = 30.0) -> bool:
        """Stop all queries within `timeout` seconds; False when some did not (their open batches are read again)."""
        deadline = time.monotonic() + timeout
        with self._lock:
            self._closing = True
            actors = dict(self._actors)
        for actor in actors.values():
            actor.close(deadline)
        late = [name for name, actor in actors.items() if not actor.join(deadline)]
        if late:
            logger.error(
                "connectors that did not stop within %g s: %s; they end with the process, and what they had not "
                "committed is read again at the next start",
                timeout,
                ", ".join(sorted(late)),
            )
        return not late

    def connectors(self) -> list[str]:
        """Names of all connectors, sorted."""
        with self._lock:
            return sorted(self._stored)

    def info(self, name: str) -> ConnectorInfo:
        """Configuration and number of tasks."""
        with self._lock:
            return self._info(name, self._find(name, "Connector {} not found"))

    def create(self, name: str, config: Config, target: TargetState = "RUNNING") -> ConnectorInfo:
        """Add a connector; raises AlreadyExists, or ConfigError with Connect's text."""
        with self._lock:
            checked = self._checked(name, config)
            if name in self._stored:
                raise AlreadyExists(f"Connector {name} already exists")
            self._save(name, StoredConnector(checked, target), renew=True)
            return replace(self._info(name, self._stored[name]), tasks=0)

    def put_config(self, name: str, config: Config) -> tuple[ConnectorInfo, bool]:
        """Add or change a connector; the flag tells whether it is new.

        A change starts the query anew, and so does the same configuration for a FAILED connector.
        """
        with self._lock:
            stored = self._stored.get(name)
            if stored is None:
                return self.create(name, config), True
            tasks = self._info(name, stored).tasks
            checked = self._checked(name, config)
            renew = checked != stored.config or self._actors[name].status().state == "FAILED"
            self._save(name, StoredConnector(checked, stored.target_state), renew)
            return replace(self._info(name, self._stored[name]), tasks=tasks), False

    def patch_config(self, name: str, patch: Config) -> ConnectorInfo:
        """Merge keys into the configuration; None removes a key (connect-rest.md 2.2)."""
        with self._lock:
            stored = self._find(name, "Connector {} not found")
            merged = {key: value for key, value in {**stored.config, **patch}.items() if value is not None}
            _log_warnings(name, check_config(merged) + self._providers.unknown(merged))
            tasks = self._info(name, stored).tasks
            self._save(name, replace(stored, config=merged), renew=True)
            return replace(self._info(name, self._stored[name]), tasks=tasks)

    def delete(self, name: str) -> None:
        """Remove a connector; its query stops, its consumer group keeps the position."""
        with self._lock:
            self._find(name, "Connector {} not found")
            self._store.delete(name)
            del self._stored[name], self._wanted[name]
            self._actors[name].want(None)

    def pause(self, name: str) -> None:
        """Stop reading and keep the tasks; nothing happens when it is paused already."""
        self._retarget(name, "PAUSED")

    def resume(self, name: str) -> None:
        """Run again; nothing happens when the connector is meant to run already."""
        self._retarget(name, "RUNNING")

    def stop(self, name: str) -> None:
        """Stop reading and give up the tasks; nothing happens when it is stopped already."""
        self._retarget(name, "STOPPED")

    def restart(self, name: str, include_tasks: bool = False, only_failed: bool = False) -> ConnectorStatus:
        """Start the query anew, or, with `only_failed`, only when it failed. Connector and tasks are one query.

        Returns the status with RESTARTING for what was chosen (connect-rest.md 5); a connector that is not meant to
        run stays as it is.
        """
        with self._lock:
            self._find(name, "Unknown connector: {}")
            status = self.status(name)
            if only_failed and status.state != "FAILED" and all(task.state != "FAILED" for task in status.tasks):
                return status
            chosen = [
                replace(task, state="RESTARTING")
                if include_tasks and (task.state == "FAILED" or not only_failed)
                else task
                for task in status.tasks
            ]
            connector: State = status.state if only_failed and status.state != "FAILED" else "RESTARTING"
            self._apply(name, renew=True)
            return replace(status, state=connector, tasks=tuple(chosen))

    def restart_task(self, name: str, task: int) -> None:
        """Start the query of a task anew; raises NotFound when there is no such task."""
        with self._lock:
            stored = self._find(name, "Unknown connector: {}")
            if not 0 <= task < self._info(name, stored).tasks:
                raise NotFound(f"Unknown task: {name}-{task}")
            self._apply(name, renew=True)

    def while_stopped(self, name: str, action: Callable[[Mapping[str, str]], T]) -> T:
        """What `action` makes of the configuration of a stopped connector, which cannot start until it returns.

        Raises ConfigError with Connect's text when the connector is not STOPPED, ServiceUnavailable when the action
        takes longer than 90 s (it goes on then), and whatever the action raises.
        """
        with self._lock:
            stored = self._find(name, "Connector {} not found")
            if stored.target_state != "STOPPED":
                raise ConfigError(_NOT_STOPPED.format(name))
            future = self._actors[name].while_stopped(lambda: action(stored.config))
        try:
            return future.result(_ACTION_S)
        except CancelledError:
            raise ConfigError(_NOT_STOPPED.format(name)) from None
        except TimeoutError:
            raise ServiceUnavailable(
                f"Request timed out after {_ACTION_S:.0f} s. The change goes on as long as connector {name} is "
                "stopped; look at its state, then repeat the request if it has not taken effect."
            ) from None

    def status(self, name: str) -> ConnectorStatus:
        """What the connector and its tasks do now."""
        with self._lock:
            stored = self._find(name, "No status found for connector {}")
            actor = self._actors[name].status()
        return ConnectorStatus(
            name=name,
            state=actor.state,
            trace=actor.trace if actor.state in ("FAILED", "RESTARTING") else None,
            tasks=tuple(TaskStatus(number, actor.task_state, actor.trace) for number in range(actor.tasks)),
            type=_type(stored.config),
        )

    def task_status(self, name: str, task: int) -> TaskStatus:
        """What one task does now."""
        missing = NotFound(f"No status found for task {name}-{task}")
        try:
            tasks = self.status(name).tasks
        except NotFound:
            raise missing from None
        found = next((status for status in tasks if status.id == task), None)
        if found is None:
            raise missing
        return found

    def task_configs(self, name: str) -> list[dict[str, str]]:
        """Configuration of each task: the connector's, and `task.class`."""
        info = self.info(name)
        return [{**info.config, "task.class": connector_of(info.config).task_class} for _ in range(info.tasks)]

    def _retarget(self, name: str, target: TargetState) -> None:
        with self._lock:
            stored = self._find(name, "Unknown connector {}")
            if stored.target_state != target:
                self._save(name, replace(stored, target_state=target), renew=False)

    def _find(self, name: str, message: str) -> StoredConnector:
        stored = self._stored.get(name)
        if stored is None:
            raise NotFound(message.format(name))
        return stored

    def _info(self, name: str, stored: StoredConnector) -> ConnectorInfo:
        tasks = 0 if stored.target_state == "STOPPED" else self._actors[name].status().tasks
        return ConnectorInfo(name, stored.config, tasks, _type(stored.config), stored.target_state)

    def _checked(self, name: str, config: Config) -> dict[str, str]:
        reason = non_empty_without_control_chars(name)
        if reason is not None:
            raise ConfigError(invalid_config_message([invalid_value("name", name, reason)]))
        own = config.get("name", name)
        if own != name:
            raise ConfigError(f"Connector name configuration ({own}) doesn't match connector name in the URL ({name})")
        named = {**config, "name": name}
        _log_warnings(name, check_config(named) + self._providers.unknown(named))
        return {key: value for key, value in named.items() if value is not None}

    def _save(self, name: str, stored: StoredConnector, renew: bool) -> None:
        self._store.put(name, stored)
        self._stored[name] = stored
        self._apply(name, renew)

    def _apply(self, name: str, renew: bool) -> None:
        if self._closing:
            raise ServiceUnavailable(
                f"The worker is shutting down; connector {name} is stored and takes this state at the next start"
            )
        stored = self._stored[name]
        before = self._wanted.get(name)
        generation = next(self._generations) if renew or before is None else before.generation
        wanted = Wanted(stored.config, _tasks_max(stored.config), stored.target_state, generation)
        self._wanted[name] = wanted
        actor = self._actors.get(name)
        if actor is None or not actor.want(wanted):
            self._actors[name] = ConnectorActor(name, wanted, self._factory, self._policy, self._providers)


def _tasks_max(config: Mapping[str, str]) -> int:
    """A stored value that is no number fails the connector with a reason when it starts, not the worker."""
    try:
        return int(config.get("tasks.max", "1"))
    except ValueError:
        return 1


def _type(config: Mapping[str, str]) -> str:
    """`unknown` when the stored class is not one of this version any more."""
    try:
        return connector_of(config).type
    except ConfigError:
        return "unknown"


def _log_warnings(name: str, warnings: list[str]) -> None:
    for warning in warnings:
        logger.warning("connector %s: %s", name, warning)
