"""One connector in one thread: brings its streaming query to the state that the user wants."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from frazil.connectors.keys.restart import restarts
from frazil.declare.providers import ConfigProviders, Resolved
from frazil.declare.secrets import hide_secrets
from frazil.engine import failures
from frazil.engine.runner_api import STOP_S, Runner, RunnerFactory, RunnerStatus, State, TargetState
from frazil.errors import Fenced, TransientError

logger = logging.getLogger(__name__)

T = TypeVar("T")

_POLL_S = 0.5


@dataclass(frozen=True)
class RestartPolicy:
    """Waits before a query that failed with a TransientError is started again, in seconds, doubling each time.

    A query that ran for `healthy_s` starts again from the first wait. `fenced` is how many failures in a row may be
    Fenced and are tried again as well: in a group of workers, the one before may still have stored its last batch.
    """

    first_s: float = 1.0
    longest_s: float = 60.0
    healthy_s: float = 120.0
    fenced: int = 0
    attempts: int | None = None
    """After so many failures in a row it stays FAILED; None: it is started again until it runs."""

    def of(self, config: Mapping[str, str]) -> RestartPolicy:
        """The policy with what a connector's own keys say instead."""
        own = restarts(config)
        return RestartPolicy(
            self.first_s if own.wait_ms is None else own.wait_ms / 1000,
            self.longest_s if own.longest_wait_ms is None else own.longest_wait_ms / 1000,
            self.healthy_s,
            self.fenced,
            self.attempts if own.attempts is None else own.attempts if own.attempts >= 0 else None,
        )

    def passes(self, failures: int, transient: bool, fenced: bool) -> bool:
        """Whether the query is started again after so many failures in a row."""
        if fenced:
            return failures <= self.fenced
        return transient and (self.attempts is None or failures <= self.attempts)

    def wait_s(self, failures: int) -> float:
        """The wait after so many failures in a row (the first failure is 1)."""
        return min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, 30))


@dataclass(frozen=True)
class Wanted:
    """What the user wants of a connector. Another `generation` starts the query anew."""

    config: Mapping[str, str]
    tasks_max: int
    target: TargetState
    generation: int


@dataclass(frozen=True)
class ActorStatus:
    """What a connector does. All tasks are parts of one query, so they share a state; STOPPED has no tasks."""

    state: State
    task_state: State
    tasks: int
    trace: str | None = None


NEW = ActorStatus("UNASSIGNED", "UNASSIGNED", 0)
"""Of a connector that nobody has begun to run."""

Observe = Callable[[str, ActorStatus], None]
"""Gets the name of a connector and each new status of it; does not wait for anything."""


class ConnectorActor:
    """Owns the runner of one connector; operations of one connector take effect in order, of several side by side.

    A wish to run shows in the status at once; PAUSED and STOPPED show when the query has really stopped. Placeholders
    of the configuration are resolved at each start of the query, and what they stand for is in no status or log.
    """

    def __init__(
        self,
        name: str,
        wanted: Wanted,
        factory: RunnerFactory,
        policy: RestartPolicy,
        providers: ConfigProviders,
        observe: Observe = lambda name, status: None,
        after: ConnectorActor | None = None,
    ) -> None:
        """Start the thread; it does nothing until the thread of the actor before, `after`, has ended."""
        self._name = name
        self._observe = observe
        self._after = after
        self._factory = factory
        self._policy = policy
        self._providers = providers
        self._changed = threading.Condition()
        self._wanted: Wanted | None = wanted
        self._close_by: float | None = None
        self._finished = False
        self._status = NEW
        self._actions: list[Callable[[bool], None]] = []
        # Only the thread touches these.
        self._runner: Runner | None = None
        self._resolved = Resolved({})
        self._generation = wanted.generation - 1
        self._failures = 0
        self._started_at = 0.0
        self._retry_at: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"connector-{name}", daemon=True)
        self._thread.start()

    def want(self, wanted: Wanted | None) -> bool:
        """Set what the user wants (None: delete); False when the actor has ended and a new one is needed."""
        with self._changed:
            if self._finished or self._close_by is not None:
                return False
            if wanted is not None:
                self._set(_announced(self._wanted, wanted, self._status))
            self._wanted = wanted
            self._changed.notify()
            return True

    def while_stopped(self, action: Callable[[], T]) -> Future[T]:
        """Call `action` in this actor's thread once the query has stopped; nothing is started until it returns.

        The future has its result or error; it is cancelled when the connector is not meant to be STOPPED by then.
        """
        future: Future[T] = Future()

        def run(stopped: bool) -> None:
            if not stopped:
                future.cancel()
                return
            try:
                future.set_result(action())
            except Exception as error:
                future.set_exception(error)

        with self._changed:
            if self._finished:
                future.cancel()
            else:
                self._actions.append(run)
                self._changed.notify()
        return future

    def status(self) -> ActorStatus:
        """What the connector does now."""
        with self._changed:
            return self._status

    def close(self, deadline: float) -> None:
        """Ask the thread to stop the query until `deadline` (monotonic seconds) and end."""
        with self._changed:
            self._close_by = deadline
            self._changed.notify()

    def end(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    def join(self, deadline: float) -> bool:
        """Whether the thread ended before `deadline`."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        return not self._thread.is_alive()

    def _run(self) -> None:
        if self._after is not None:
            self._after.end()
            self._after = None
        while True:
            with self._changed:
                wanted, close_by = self._wanted, self._close_by
                actions, self._actions = self._actions, []
            if close_by is not None or wanted is None:
                self._stop_runner(STOP_S if close_by is None else max(0.1, close_by - time.monotonic()))
                with self._changed:
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
            with self._changed:
                if self._finished:
                    return
                if self._wanted is wanted and self._close_by is close_by and not self._actions:
                    self._changed.wait(self._pause_s())

    def _pause_s(self) -> float | None:
        if self._retry_at is not None:
            return max(0.0, self._retry_at - time.monotonic())
        return None if self._runner is None else _POLL_S

    def _keep_running(self, wanted: Wanted) -> None:
        if self._generation != wanted.generation:
            self._stop_runner()
            self._failures, self._generation = 0, wanted.generation
            self._start(wanted)
        elif self._runner is not None:
            self._watch(wanted, self._runner)
        elif self._retry_at is not None:
            if time.monotonic() >= self._retry_at:
                self._start(wanted)
        elif self.status().state != "FAILED":
            self._start(wanted)

    def _start(self, wanted: Wanted) -> None:
        self._retry_at = None
        try:
            self._resolved = self._providers.resolve(wanted.config)
            self._runner = self._factory(self._name, self._resolved.config)
            self._runner.start()
        except Exception as error:
            self._raised(wanted, error)
            return
        self._started_at = time.monotonic()
        self._report(wanted, ActorStatus("RUNNING", "RUNNING", wanted.tasks_max))
        logger.info("connector %s is running", self._name)

    def _watch(self, wanted: Wanted, runner: Runner) -> None:
        try:
            status = runner.status()
        except Exception as error:
            self._raised(wanted, error)
            return
        if status.state == "FAILED":
            self._failed(wanted, status.trace or "The streaming query ended without a reason.", status)
            return
        if status.state == "RESTARTING":
            trace = hide_secrets(status.trace or "", wanted.config, self._resolved.secrets)
            self._report(wanted, ActorStatus("RESTARTING", "RESTARTING", wanted.tasks_max, trace))
            return
        if time.monotonic() - self._started_at > self._policy.healthy_s:
            self._failures = 0
        self._report(wanted, ActorStatus("RUNNING", "RUNNING", wanted.tasks_max))

    def _raised(self, wanted: Wanted, error: Exception) -> None:
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
        wait = policy.wait_s(self._failures) if again else None
        state: State = "FAILED" if wait is None else "RESTARTING"
        self._report(wanted, ActorStatus(state, state, wanted.tasks_max, trace))
        after = "it stays FAILED until it is restarted" if wait is None else f"it is started again in {wait:g} s"
        logger.error("connector %s failed; %s: %s", self._name, after, trace)
        self._stop_runner()
        self._retry_at = None if wait is None else time.monotonic() + wait

    def _stop_runner(self, timeout: float = STOP_S) -> None:
        runner, self._runner = self._runner, None
        if runner is None:
            return
        try:
            runner.stop(timeout)
        except Exception as error:
            logger.error(
                "the query of connector %s did not stop in order; what it had not committed is read again: %s",
                self._name,
                hide_secrets(
                    failures.trace(failures.classify(error), error), self._resolved.config, self._resolved.secrets
                ),
            )
        else:
            logger.info("the query of connector %s has stopped", self._name)

    def _report(self, wanted: Wanted, status: ActorStatus) -> None:
        with self._changed:
            if self._wanted is wanted:
                self._set(status)

    def _set(self, status: ActorStatus) -> None:
        if status != self._status:
            self._status = status
            self._observe(self._name, status)


def _announced(before: Wanted | None, wanted: Wanted, status: ActorStatus) -> ActorStatus:
    """The status to show before the thread has acted on a new wish."""
    if before is None:
        return NEW
    if wanted.target != "RUNNING":
        return status
    if status.state in ("PAUSED", "STOPPED") or before.target != "RUNNING":
        return ActorStatus("UNASSIGNED", "UNASSIGNED", wanted.tasks_max)
    if wanted.generation != before.generation:
        return ActorStatus("RESTARTING", "RESTARTING", wanted.tasks_max)
    return status


def _halted(wanted: Wanted, before: ActorStatus) -> ActorStatus:
    """The status of a connector whose query has stopped; the tasks of a failed one stay FAILED."""
    if wanted.target == "STOPPED":
        return ActorStatus("STOPPED", "STOPPED", 0)
    if before.task_state == "FAILED" and before.tasks:
        return ActorStatus("PAUSED", "FAILED", before.tasks, before.trace)
    return ActorStatus("PAUSED", "PAUSED", before.tasks)
