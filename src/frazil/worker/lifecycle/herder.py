"""Lifecycle of connectors: wishes are kept in the store and carried out by one actor per connector."""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import TypeVar

from frazil.connectors.kept_keys import changing, replacing
from frazil.connectors.registry import connector_of
from frazil.declare.providers import ConfigProviders
from frazil.engine.runner_api import STOP_S, RunnerFactory, State, TargetState
from frazil.environment.settings import Settings
from frazil.errors import AlreadyExists, ConfigError, NotFound, Rebalancing, ServiceUnavailable
from frazil.text.events import event
from frazil.worker.lifecycle.actor import NEW, ActorStatus
from frazil.worker.lifecycle.actors import Actors
from frazil.worker.lifecycle.checks import Config, ConfigChecks, type_of
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.status import ConnectorInfo, ConnectorStatus, OwnStatus, StatusBoard
from frazil.worker.lifecycle.store import ConfigStore, StoredConnector

logger = logging.getLogger(__name__)

T = TypeVar("T")

_ACTION_S = 90.0
_NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/{}/stop' endpoint"
)
CONFLICT = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"


class Herder:
    """Creates, changes and removes connectors. Every change is durable before a method returns; connectors start and
    stop afterwards, and `status` shows how far they are.

    Alone, a worker runs every connector. With a `board` it is one of a group: it runs those that `own` gives it, and
    methods that need the worker of a connector raise Rebalancing on another one. Other errors carry the messages of
    Kafka Connect: NotFound, AlreadyExists, ConfigError.
    """

    def __init__(
        self,
        store: ConfigStore,
        factory: RunnerFactory,
        worker_id: str,
        policy: RestartPolicy | None = None,
        providers: ConfigProviders | None = None,
        board: StatusBoard | None = None,
        settings: Settings | None = None,
        complete: Callable[[Mapping[str, str]], Mapping[str, str]] = dict,
        refusals: Callable[[str, Mapping[str, str]], list[str]] = lambda name, config: [],
        obstacles: Callable[[Mapping[str, str]], list[str]] = lambda config: [],
        find: Callable[[str, Mapping[str, str]], Mapping[str, str]] = lambda name, config: {},
    ) -> None:
        """`obstacles` tells why a configuration that is right in itself would fail when it starts here; see
        `ConfigChecks` for the others."""
        self.worker_id = worker_id
        self.settings = settings or Settings({})
        self.completed = complete
        self.obstacles = obstacles
        self._providers = providers or ConfigProviders()
        self._store = store
        self._board = board
        self._checks = ConfigChecks(self.settings, self._providers, complete, refusals, find)
        self._lock = threading.RLock()
        self._writing = threading.RLock()
        self._stored: dict[str, StoredConnector] = {}
        self._actors = Actors(factory, policy or RestartPolicy(), self._providers, self._observed)
        self._owns: Callable[[str], bool] = lambda name: board is None
        self._started = False
        self._closing = False

    @property
    def started(self) -> bool:
        """Whether the worker knows all connectors and takes requests."""
        return self._started

    def start(self, join: Callable[[], None] = lambda: None) -> None:
        """Read the store and start the connectors; raises ConfigError when the store cannot be read.

        `join` is called in between: with a board, it makes the worker a member of its group.
        """
        self._store.open(self._changed)
        join()
        self._started = True

    def close(self, timeout: float = STOP_S) -> bool:
        """Stop all connectors within `timeout` seconds; False when some did not (their open batches are read again)."""
        with self._lock:
            self._closing = True
        stopped = self._actors.close(timeout)
        self._give_up(self._actors.names())
        return stopped

    def own(self, owns: Callable[[str], bool], timeout: float = STOP_S) -> bool:
        """Run the connectors that `owns` is true for, and no others.

        Those that were run until now have stopped when this returns, after `timeout` seconds at most; False when some
        did not.
        """
        with self._lock:
            self._owns = owns
            lost = {name for name in self._actors.names() if not owns(name)}
            if not self._closing:
                for name, stored in self._stored.items():
                    if owns(name) and self._actors.status(name) is None:
                        self._actors.apply(name, stored, renew=True)
        stopped = self._actors.release(lost, timeout)
        self._give_up(lost)
        return stopped

    def remind(self) -> None:
        """Tell the states of the connectors of this worker again, where somebody else has told others."""
        for name in self.running_here():
            status = self._actors.status(name)
            if status is not None:
                self._observed(name, status)

    def connectors(self) -> list[str]:
        """Names of all connectors, sorted."""
        with self._lock:
            return sorted(self._stored)

    def problems(self) -> dict[str, str]:
        """Reasons by connector for which this worker does not run what is stored of it."""
        return self._store.problems()

    def running_here(self) -> list[str]:
        """Names of the connectors of this worker, sorted; alone it has them all."""
        with self._lock:
            return sorted(self._actors.names())

    def restarts(self) -> dict[str, int]:
        """Starts of each connector of this worker by itself, after failures that may pass."""
        return self._actors.restarts()

    def info(self, name: str) -> ConnectorInfo:
        """Configuration and number of tasks."""
        with self._lock:
            return self._info(name, self._find(name, "Connector {} not found"))

    def infos(self) -> list[ConnectorInfo]:
        """Configuration and number of tasks of all connectors, by name."""
        with self._lock:
            return [self._info(name, stored) for name, stored in sorted(self._stored.items())]

    def create(self, name: str, config: Config, target: TargetState = "RUNNING") -> ConnectorInfo:
        """Add a connector; raises AlreadyExists, or ConfigError with Connect's text."""
        with self._writing:
            checked = self._checks.whole(name, config)
            if name in self._stored:
                raise AlreadyExists(f"Connector {name} already exists")
            self._save(name, lambda: self._store.put(name, StoredConnector(checked, target)))
            logger.info("connector %s is created, to be %s", name, target, extra=event("created", name))
            return replace(self.info(name), tasks=0)

    def put_config(self, name: str, config: Config) -> tuple[ConnectorInfo, bool]:
        """Add or change a connector; the flag tells whether it is new.

        A change starts the connector anew, and so does the same configuration for one that is FAILED, or whose tasks
        are.
        """
        with self._writing:
            stored = self._stored.get(name)
            if stored is None:
                return self.create(name, config), True
            tasks = self._info(name, stored).tasks
            checked = self._checks.whole(name, replacing(stored.config, config))
            self._save(name, lambda: self._store.put(name, StoredConnector(checked, stored.target_state)))
            _tell_changed(name, stored.config, checked)
            return replace(self.info(name), tasks=tasks), False

    def patch_config(self, name: str, patch: Config) -> ConnectorInfo:
        """Merge keys into the configuration; None removes a key."""
        with self._writing:
            stored = self._find(name, "Connector {} not found")
            merged = changing(stored.config, {**stored.config, **patch})
            kept = {key: value for key, value in merged.items() if value is not None}
            checked = self._checks.checked(name, kept)
            tasks = self._info(name, stored).tasks
            self._save(name, lambda: self._store.put(name, replace(stored, config=checked)))
            _tell_changed(name, stored.config, checked)
            return replace(self.info(name), tasks=tasks)

    def delete(self, name: str) -> None:
        """Remove a connector; it stops, and its consumer group keeps the position."""
        with self._writing:
            self._find(name, "Connector {} not found")
            self._store.delete(name)
            logger.info("connector %s is deleted", name, extra=event("deleted", name))

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
        """Start the connector anew and, with `include_tasks`, its tasks; with `only_failed` those that have failed.

        The tasks of a connector start and fail together. A connector that could be started has nothing of its own that
        runs beside them. Returns the status with RESTARTING for what was chosen; a connector that is not meant to run
        stays as it is.
        """
        with self._lock:
            stored = self._find(name, "Unknown connector: {}")
            self._require_here(name)
            status = self.status(name)
            whole = not only_failed or status.state == "FAILED"
            restarting: State = "RESTARTING"
            chosen = {
                number: replace(task, state=restarting)
                for number, task in status.tasks.items()
                if include_tasks and (task.state == "FAILED" or not only_failed)
            }
            if chosen or (whole and status.state in ("FAILED", "RESTARTING")):
                self._actors.apply(name, stored, renew=True, tasks_only=not whole)
            return replace(status, state=restarting if whole else status.state, tasks={**status.tasks, **chosen})

    def restart_task(self, name: str, task: int) -> None:
        """Start the tasks of a connector anew, which run as one; raises NotFound when there is no such task."""
        with self._lock:
            stored = self._find(name, "Unknown connector: {}")
            self._require_here(name)
            if not 0 <= task < self._info(name, stored).tasks:
                raise NotFound(f"Unknown task: {name}-{task}")
            self._actors.apply(name, stored, renew=True, tasks_only=True)

    def while_stopped(self, name: str, action: Callable[[Mapping[str, str]], T]) -> T:
        """Call `action` with the configuration of a stopped connector, which cannot start until it returns; its result.

        Raises ConfigError with Connect's text when the connector is not STOPPED, ServiceUnavailable when the action
        takes longer than 90 s (it goes on then), and whatever the action raises.
        """
        with self._lock:
            stored = self._find(name, "Connector {} not found")
            if stored.target_state != "STOPPED":
                raise ConfigError(_NOT_STOPPED.format(name))
            self._require_here(name)
            future = self._actors.while_stopped(name, lambda: action(stored.config))
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
        """The state of the connector and of its tasks now, as its worker tells it."""
        with self._lock:
            stored = self._find(name, "No status found for connector {}")
            actor = self._actors.status(name)
            told = self._board.of(name) if actor is None and self._board is not None else None
        if told is None:
            return self._status_of(name, stored, NEW if actor is None else actor)
        return replace(told, trace=self._trace(name, told.trace), type=type_of(stored.config))

    def task_status(self, name: str, task: int) -> OwnStatus:
        """The state of one task now."""
        try:
            return self.status(name).tasks[task]
        except (NotFound, KeyError):
            raise NotFound(f"No status found for task {name}-{task}") from None

    def task_configs(self, name: str) -> list[dict[str, str]]:
        """Configuration of each task: the connector's, and `task.class`."""
        info = self.info(name)
        return [{**info.config, "task.class": connector_of(info.config).task_class} for _ in range(info.tasks)]

    def _retarget(self, name: str, target: TargetState) -> None:
        with self._writing:
            stored = self._find(name, "Unknown connector {}")
            if stored.target_state != target:
                self._save(name, lambda: self._store.retarget(name, target))

    def _save(self, name: str, write: Callable[[], None]) -> None:
        write()
        if self._closing:
            raise ServiceUnavailable(
                f"The worker is shutting down; connector {name} is stored and takes this state at the next start"
            )

    def _find(self, name: str, message: str) -> StoredConnector:
        stored = self._stored.get(name)
        if stored is None:
            raise NotFound(message.format(name))
        return stored

    def _info(self, name: str, stored: StoredConnector) -> ConnectorInfo:
        tasks = 0 if stored.target_state == "STOPPED" else len(self.status(name).tasks)
        return ConnectorInfo(name, stored.config, tasks, type_of(stored.config), stored.target_state)

    def _require_here(self, name: str) -> None:
        if not self._owns(name) or self._closing:
            raise Rebalancing(CONFLICT)

    def _changed(self, name: str, stored: StoredConnector | None, configured: bool) -> None:
        """Note a change of the store, and bring the connector to it if it runs here."""
        with self._lock:
            before = self._stored.get(name)
            if stored is None:
                self._stored.pop(name, None)
                self._actors.remove(name)
                if self._board is not None and self._owns(name):
                    self._board.forget(name)
                return
            self._stored[name] = stored
            if self._closing or not self._owns(name):
                return
            status = self._actors.status(name)
            failed = status is not None and status.has_failed
            renew = configured and (before is None or before.config != stored.config or failed)
            self._actors.apply(name, stored, renew)

    def _status_of(self, name: str, stored: StoredConnector, actor: ActorStatus) -> ConnectorStatus:
        own = actor.trace if actor.state in ("FAILED", "RESTARTING") else None
        return ConnectorStatus(
            actor.state,
            self.worker_id,
            self._trace(name, own),
            name=name,
            tasks=dict.fromkeys(range(actor.tasks), OwnStatus(actor.task_state, self.worker_id, actor.trace)),
            type=type_of(stored.config),
        )

    def _trace(self, name: str, told: str | None) -> str | None:
        """Join what is told of a connector and why this worker does not run what is stored of it."""
        return "\n".join(dict.fromkeys(filter(None, (told, self.problems().get(name))))) or None

    def _observed(self, name: str, status: ActorStatus) -> None:
        stored = self._stored.get(name)
        if self._board is not None and stored is not None and self._actors.has(name):
            self._board.publish(self._status_of(name, stored, status))

    def _give_up(self, names: set[str]) -> None:
        """Tell that connectors run nowhere at the moment; those that are not meant to run stay what they are."""
        for name in names:
            stored = self._stored.get(name)
            if self._board is not None and stored is not None and stored.target_state == "RUNNING":
                told = self._board.of(name)
                tasks = len(told.tasks) if told is not None else 0
                self._board.publish(self._status_of(name, stored, replace(NEW, tasks=tasks)))


def _tell_changed(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Log the names of the keys that are not what they were; their values may be secrets."""
    keys = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    if keys:
        logger.info("connector %s is changed: %s", name, ", ".join(keys), extra=event("changed", name))
