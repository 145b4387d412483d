"""Actor of a connector: brings its runner to the state that the user wants."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import TypeVar

from frazil.declare.providers import ConfigProviders, Resolved
from frazil.declare.secrets import hide_secrets
from frazil.engine import failures
from frazil.engine.runner_api import STOP_S, Runner, RunnerFactory, RunnerStatus, State, TargetState
from frazil.errors import Fenced, TransientError
from frazil.text.events import event
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.threads import ActorThreads

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """State that the user wants of a connector. Another `generation` starts the connector anew with its tasks, or
    with `tasks_only` the tasks alone."""

    config: Mapping[str, str]
    tasks_max: int
    target: TargetState
    generation: int
    tasks_only: bool = False


@dataclass(frozen=True)
class ActorStatus:
    """Status of a connector. Its tasks are a number alone, so they share a state; STOPPED has no tasks.

    A configuration that no connector can be made of fails the connector; what happens from then on, the tasks, as in
    Kafka Connect. `trace` is of what has failed.
    """

    state: State
    task_state: State
    tasks: int
    trace: str | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the connector or its tasks are FAILED."""
        return "FAILED" in (self.state, self.task_state)


NEW = ActorStatus("UNASSIGNED", "UNASSIGNED", 0)
"""Status of a connector that nobody has begun to run."""

Observe = Callable[[str, ActorStatus], None]
"""Callback with the name of a connector and each new status of it; does not wait for anything."""


class ConnectorActor:
    """Owns the runner of one connector; operations of one connector take effect in order, of several side by side.

    It has no thread of its own: when something has changed, it takes turns in a thread that it shares with others, one
    after another. A wish to run shows in the status at once; PAUSED and STOPPED show when the runner has really
    stopped. Placeholders of the configuration are resolved at each start, and what they stand for is in no status or
    log.
    """

    def __init__(
        self,
        name: str,
        wanted: Wanted,
        factory: RunnerFactory,
        policy: RestartPolicy,
        providers: ConfigProviders,
        threads: ActorThreads,
        observe: Observe = lambda name, status: None,
        after: ConnectorActor | None = None,
    ) -> None:
        """Take the first turn, once the actor before, `after`, has ended."""
        self._name = name
        self._observe = observe
        self._factory = factory
        self._policy = policy
        self._providers = providers
        self._threads = threads
        self._lock = threading.Lock()
        self._wanted: Wanted | None = wanted
        self._close_by: float | None = None
        self._status = NEW
        self._actions: list[Callable[[bool], None]] = []
        self._has_news = True
        self._has_turn = True
        self._finished = False
        self._ended: Future[None] = Future()
        self.restarts = 0
        """Number of starts by itself, after failures that may pass."""
        # Only turns touch these.
        self._runner: Runner | None = None
        self._resolved = Resolved({})
        self._opened = False
        self._generation = wanted.generation - 1
        self._failures = 0
        self._started_at = 0.0
        self._retry_at: float | None = None
        if after is None:
            threads.submit(self._run)
        else:
            after.then(lambda: threads.submit(self._run))

    def want(self, wanted: Wanted | None) -> bool:
        """Set what the user wants (None: delete); False when the actor has ended and a new one is needed."""
        with self._lock:
            if self._finished or self._close_by is not None:
                return False
            if wanted is not None:
                self._set(_announced(self._wanted, wanted, self._status))
            self._wanted = wanted
            self._wake()
            return True

    def while_stopped(self, action: Callable[[], T]) -> Future[T]:
        """Call `action` in a turn of this actor once the runner has stopped; nothing is started until it returns.

        The future has its result or error; it is cancelled when the connector is not meant to be STOPPED by then.
        """
        future: Future[T] = Future()

        def run(stopped: bool) -> None:
            if not stopped:
                future.cancel()
                return
            try:
                future.set_result(action())
            except BaseException as error:  # the thread goes on for the other connectors, whatever it is
                future.set_exception(error)

        with self._lock:
            if self._finished:
                future.cancel()
            else:
                self._actions.append(run)
                self._wake()
        return future

    def status(self) -> ActorStatus:
        """Status of the connector now."""
        with self._lock:
            return self._status

    def wake(self) -> None:
        """Take a turn soon; any thread may call it."""
        with self._lock:
            self._wake()

    def close(self, deadline: float) -> None:
        """Begin to stop the runner until `deadline` (monotonic seconds), and to end."""
        with self._lock:
            self._close_by = deadline
            self._wake()

    def then(self, call: Callable[[], None]) -> None:
        """Call once this actor has ended."""
        self._ended.add_done_callback(lambda ended: call())

    def join(self, deadline: float) -> bool:
        """Whether the actor has ended by `deadline`."""
        return bool(wait([self._ended], max(0.0, deadline - time.monotonic())).done)

    def _wake(self) -> None:
        self._has_news = True
        if not self._has_turn and not self._finished:
            self._has_turn = True
            try:
                self._threads.submit(self._run)
            except RuntimeError:
                self._has_turn = False
                raise

    def _run(self) -> None:
        """Take turns until nothing has changed since the last one began."""
        while True:
            with self._lock:
                self._has_turn = self._has_news and not self._finished
                self._has_news = False
                if not self._has_turn:
                    return
            try:
                self._turn()
            except BaseException as error:
                logger.exception("connector %s: a fault of the program", self._name)
                with self._lock:
                    self._status = ActorStatus("FAILED", "FAILED", 0, failures.trace(failures.classify(error), error))

    def _turn(self) -> None:
        with self._lock:
            wanted, close_by = self._wanted, self._close_by
            actions, self._actions = self._actions, []
        if close_by is not None or wanted is None:
            self._stop_runner(STOP_S if close_by is None else max(0.1, close_by - time.monotonic()))
            with self._lock:
                if close_by is not None or self._wanted is None:
                    self._finished = True
                    actions += self._actions
        elif wanted.target == "RUNNING":
            self._keep_running(wanted)
        else:
            self._stop_runner()
            self._failures, self._retry_at = 0, None
            self._report(wanted, _halted(wanted, self.status()))
        stopped = wanted is not None and close_by is None and wanted.target == "STOPPED"
        for run in actions:
            run(stopped)
        if self._finished:
            self._resolved = Resolved({})
            self._ended.set_result(None)

    def _keep_running(self, wanted: Wanted) -> None:
        if self._generation != wanted.generation:
            self._stop_runner()
            self._failures, self._generation = 0, wanted.generation
            self._opened = self._opened and wanted.tasks_only
            self._start(wanted)
        elif self._runner is not None:
            self._watch(wanted, self._runner)
        elif self._retry_at is not None:
            if time.monotonic() >= self._retry_at:
                self._start(wanted)
        elif not self.status().has_failed:
            self._start(wanted)

    def _start(self, wanted: Wanted) -> None:
        self._retry_at = None
        try:
            self._resolved = self._providers.resolve(wanted.config)
            self._runner = self._factory(self._name, self._resolved, self.wake)
            self._opened = True
            self._runner.start()
        except BaseException as error:
            self._raised(wanted, error)
            return
        self._started_at = time.monotonic()
        self._report(wanted, ActorStatus("RUNNING", "RUNNING", wanted.tasks_max))
        logger.info("connector %s is running", self._name, extra=event("running", self._name))

    def _watch(self, wanted: Wanted, runner: Runner) -> None:
        if time.monotonic() - self._started_at > self._policy.healthy_s:
            self._failures = 0
        try:
            status = runner.status()
        except BaseException as error:
            self._raised(wanted, error)
            return
        if status.outgrown:
            logger.info(
                "connector %s starts again with what is new: %s",
                self._name,
                status.trace,
                extra=event("restarting", self._name),
            )
            self._stop_runner()
            self._start(wanted)
            return
        if status.state == "FAILED":
            self._failed(wanted, status.trace or "The connector ended without a reason.", status)
            return
        self._report(wanted, ActorStatus("RUNNING", "RUNNING", wanted.tasks_max))

    def _raised(self, wanted: Wanted, error: BaseException) -> None:
        failure = failures.classify(error)
        logger.debug("connector %s raised", self._name, exc_info=error)
        status = RunnerStatus(
            "FAILED", transient=isinstance(failure, TransientError), fenced=isinstance(failure, Fenced)
        )
        self._failed(wanted, failures.trace(failure, error), status)

    def _failed(self, wanted: Wanted, trace: str, failed: RunnerStatus) -> None:
        trace = hide_secrets(trace, wanted.config, self._resolved.secrets)
        self._failures += 1
        policy = self._policy.of(self._resolved.config)
        again = policy.passes(self._failures, failed.transient, failed.fenced)
        wait_s = policy.wait_s(self._failures) if again else None
        state: State = "FAILED" if wait_s is None else "RESTARTING"
        if self._opened:
            self._report(wanted, ActorStatus("RUNNING", state, wanted.tasks_max, trace))
        else:
            self._report(wanted, ActorStatus(state, state, 0, trace))
        after = "it stays FAILED until it is restarted" if wait_s is None else f"it is started again in {wait_s:g} s"
        logger.error("connector %s failed; %s: %s", self._name, after, trace, extra=event(state.lower(), self._name))
        self._stop_runner()
        if wait_s is not None:
            self.restarts += 1
            self._retry_at = time.monotonic() + wait_s
            self._threads.wake_at(self._retry_at, self.wake)

    def _stop_runner(self, timeout: float = STOP_S) -> None:
        runner, self._runner = self._runner, None
        if runner is None:
            return
        try:
            runner.stop(timeout)
        except BaseException as error:
            logger.error(
                "connector %s did not stop in order; what it had not committed is read again: %s",
                self._name,
                hide_secrets(
                    failures.trace(failures.classify(error), error), self._resolved.config, self._resolved.secrets
                ),
            )
        else:
            logger.info("connector %s has stopped", self._name, extra=event("stopped", self._name))

    def _report(self, wanted: Wanted, status: ActorStatus) -> None:
        with self._lock:
            if self._wanted is wanted:
                self._set(status)

    def _set(self, status: ActorStatus) -> None:
        if status != self._status:
            self._status = status
            self._observe(self._name, status)


def _announced(before: Wanted | None, wanted: Wanted, status: ActorStatus) -> ActorStatus:
    """The status to show before a turn has acted on a new wish."""
    if before is None:
        return NEW
    if wanted.target != "RUNNING":
        return status
    if status.state in ("PAUSED", "STOPPED") or before.target != "RUNNING":
        return ActorStatus("UNASSIGNED", "UNASSIGNED", wanted.tasks_max)
    if wanted.generation != before.generation:
        return ActorStatus(status.state if wanted.tasks_only else "RESTARTING", "RESTARTING", wanted.tasks_max)
    return status


def _halted(wanted: Wanted, before: ActorStatus) -> ActorStatus:
    """The status of a connector that has stopped; the tasks of a failed one stay FAILED, as in Kafka Connect."""
    if wanted.target == "STOPPED":
        return ActorStatus("STOPPED", "STOPPED", 0)
    if before.task_state == "FAILED" and before.tasks:
        return ActorStatus("PAUSED", "FAILED", before.tasks, before.trace)
    return ActorStatus("PAUSED", "PAUSED", before.tasks)
