"""One connector whose wishes, failures and turns come in every order, some of them while a turn runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from frazil.declare.providers import ConfigProviders
from frazil.engine.runner_api import TargetState
from frazil.worker.lifecycle.actor import ConnectorActor, Wanted
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.threads import ActorThreads
from tests.worker.lifecycle.runners import ScriptedFactory

NAME = "c"
Operation = tuple[object, ...]
NEVER = time.monotonic() + 1e6
TARGETS = st.sampled_from(["RUNNING", "RUNNING", "PAUSED", "STOPPED"])


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


class Interleavings(RuleBasedStateMachine):
    """Does what `Actors` does with a connector, and keeps what must come of it."""

    def __init__(self) -> None:
        super().__init__()
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
        return Wanted({"generation": str(self.generation)}, 1, target, self.generation)

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

    operations = st.one_of(
        st.tuples(st.just("want"), TARGETS, st.booleans()),
        st.tuples(st.just("fail"), st.booleans()),
        st.sampled_from([("delete",), ("release",), ("act",), ("ring",), ("wake",)]),
    )

    @rule(operation=operations, meanwhile=st.none() | operations, turns=st.sampled_from([0, 0, 1, 1, 2, 99]))
    def operate(self, operation: Operation, meanwhile: Operation | None, turns: int) -> None:
        self.do(operation)
        self.meanwhile = meanwhile
        if turns == 99:
            self.settle()
        for _ in range(turns):
            self.threads.run()

    @invariant()
    def one_runner_at_a_time(self) -> None:
        life = self.factory.life(NAME)
        assert life == (["start", "stop"] * len(life))[: len(life)]

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
            assert status.state == "RUNNING" or (status.state == "FAILED" and self.may_have_failed)
        else:
            assert status.state == self.target
        if runs:
            assert self.factory.last(NAME).config == {"generation": str(self.generation)}
        assert runs is (self.target == "RUNNING" and status.state == "RUNNING")
        for future in self.actions:
            assert future.cancelled() or future.result(0.0) != ["start"]
        self.actions.clear()

    def teardown(self) -> None:
        self.settle()
        self.release()
        self.settle()
        self.threads.close()


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(stateful_step_count=20)
