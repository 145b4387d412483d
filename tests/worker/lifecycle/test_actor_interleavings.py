"""One connector whose wishes, failures and turns come in every order, some of them while a turn runs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from frazil.declare.providers import ConfigProviders
from frazil.engine.runner_api import TargetState
from frazil.worker.lifecycle.actor import ConnectorActor, Wanted
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.threads import ActorThreads
from tests.worker.lifecycle.runners import ScriptedFactory

NAME = "c"
Operation = tuple[object, ...]
NEVER = time.monotonic() + 1e6


class ManualThreads(ActorThreads):
    """Runs turns and alarms in the thread of the test, when it says so."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Callable[[], None]] = []
        self.alarms: list[Callable[[], None]] = []
        self._running: list[Callable[[], None]] = []

    def submit(self, turn: Callable[[], None]) -> None:
        assert turn not in self.turns + self._running, "two turns of one actor at once"
        self.turns.append(turn)

    def wake_at(self, moment: float, wake: Callable[[], None]) -> None:
        self.alarms.append(wake)

    def run(self) -> None:
        """One turn; called while another runs, it is as if a second thread had taken it."""
        if self.turns:
            self._running.append(self.turns.pop(0))
            self._running[-1]()
            self._running.pop()

    def ring(self) -> None:
        alarms, self.alarms = self.alarms, []
        for wake in alarms:
            wake()


class Connector:
    """Does what `Actors` does with a connector, and keeps what must come of it."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.threads = ManualThreads()
        self.factory = ScriptedFactory()
        self.factory.before_start = self.factory.before_stop = lambda name: self.happen()
        self.meanwhile: Operation | None = None
        self.generation = 1
        self.target: TargetState | None = "RUNNING"
        self.may_have_failed = False
        self.actions: list[Future[list[str]]] = []
        self.actor = self.new(None)

    def new(self, after: ConnectorActor | None) -> ConnectorActor:
        wanted, policy = self.wanted("RUNNING"), RestartPolicy(0.0, 0.0)
        return ConnectorActor(NAME, wanted, self.factory, policy, ConfigProviders(), self.threads, after=after)

    def wanted(self, target: TargetState) -> Wanted:
        tasks_only = self.dice.random() < 0.5
        return Wanted({"generation": str(self.generation)}, 1, target, self.generation, tasks_only)

    def happen(self) -> None:
        """What others do while a start or a stop waits."""
        operation, self.meanwhile = self.meanwhile, None
        if operation is not None:
            self.do(operation)
        self.threads.run()

    def do(self, operation: Operation) -> None:
        name, *arguments = operation
        getattr(self, str(name))(*arguments)

    def want(self, target: TargetState, renew: bool) -> None:
        if self.target is None:
            target, renew = "RUNNING", True  # made anew
        if renew:
            self.generation += 1
            self.may_have_failed = False
        self.target = target
        if not self.actor.want(self.wanted(target)):
            self.actor = self.new(self.actor)

    def delete(self) -> None:
        if self.target is not None:
            self.target = None
            self.actor.want(None)

    def release(self) -> None:
        self.target = None
        self.actor.close(NEVER)

    def act(self) -> None:
        self.actions.append(self.actor.while_stopped(lambda: self.factory.life(NAME)[-1:]))

    def fail(self, transient: bool) -> None:
        runners = self.factory.runners.get(NAME)
        if runners and runners[-1].status().state == "RUNNING":
            self.may_have_failed |= not transient
            runners[-1].fail("x", transient=transient)

    def ring(self) -> None:
        self.threads.ring()

    def wake(self) -> None:
        self.actor.wake()

    def operate(self) -> None:
        """One operation at a point of time that the dice choose, and another one while what comes of it goes on."""
        self.do(self.operation())
        self.meanwhile = self.dice.choice([None, self.operation()])
        if self.dice.random() < 0.2:
            self.settle()
        for _ in range(self.dice.choice([0, 0, 1, 2])):
            self.threads.run()
        life = self.factory.life(NAME)
        assert life == (["start", "stop"] * len(life))[: len(life)], "two runners at once"

    def operation(self) -> Operation:
        targets: list[TargetState] = ["RUNNING", "RUNNING", "PAUSED", "STOPPED"]
        others: list[Operation] = [("delete",), ("release",), ("act",), ("act",), ("ring",), ("wake",)]
        want = ("want", self.dice.choice(targets), self.dice.random() < 0.3)
        return self.dice.choice([want, ("fail", self.dice.random() < 0.5), self.dice.choice(others)])

    def settle(self) -> None:
        """Take all turns, with nothing new after what was to happen meanwhile, and look what has come of it."""
        while self.threads.turns or self.threads.alarms:
            self.threads.run()
            self.threads.ring()
        self.meanwhile = None
        runs = self.factory.life(NAME)[-1:] == ["start"]
        status = self.actor.status()
        if self.target is None:
            assert self.actor.join(0.0)
        elif self.target == "RUNNING":
            assert status.state == "RUNNING"
            assert status.task_state == "RUNNING" or (status.task_state == "FAILED" and self.may_have_failed)
        else:
            assert status.state == self.target
        if runs:
            assert self.factory.last(NAME).config == {"generation": str(self.generation)}
        assert runs is (self.target == "RUNNING" and status.task_state == "RUNNING")
        for future in self.actions:
            assert future.cancelled() or future.result(0.0) != ["start"]
        self.actions.clear()


@pytest.mark.parametrize("seed", range(200))
def test_one_runner_at_a_time_and_the_last_wish_counts(seed: int) -> None:
    connector = Connector(random.Random(seed))
    for _ in range(40):
        connector.operate()
    connector.settle()
    connector.release()
    connector.settle()
