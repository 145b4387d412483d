from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

import pytest

from frazil.declare.providers import ConfigProviders, EnvironmentProvider, Resolved
from frazil.engine import failures
from frazil.engine.runner_api import RunnerStatus, TargetState
from frazil.errors import ConfigError, Fenced, ServiceUnavailable, TransientError
from frazil.worker.lifecycle.actor import ActorStatus, ConnectorActor, Wanted
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.threads import ActorThreads
from tests.waits import PATIENCE_S, eventually
from tests.worker.lifecycle.runners import ScriptedFactory, ScriptedRunner

RUNNING = ActorStatus("RUNNING", "RUNNING", 2)
QUICK = RestartPolicy(first_s=0.05, longest_s=0.1)
NO_PROVIDERS = ConfigProviders()
Make = Callable[..., ConnectorActor]


def wanted(target: TargetState = "RUNNING", generation: int = 1) -> Wanted:
    return Wanted({"my.secret": "s3cr3t"}, 2, target, generation)


@pytest.fixture
def make(factory: ScriptedFactory) -> Iterator[Make]:
    threads = ActorThreads()
    actors: list[ConnectorActor] = []

    def make(first: Wanted, policy: RestartPolicy = QUICK, providers: ConfigProviders = NO_PROVIDERS) -> ConnectorActor:
        actors.append(ConnectorActor("c", first, factory, policy, providers, threads))
        return actors[-1]

    yield make
    deadline = time.monotonic() + PATIENCE_S
    for actor in actors:
        actor.close(deadline)
        assert actor.join(deadline)
    threads.close()


def test_waits_double_up_to_the_longest() -> None:
    policy = RestartPolicy(first_s=1.0, longest_s=60.0)
    assert [policy.wait_s(failures) for failures in (1, 2, 3, 6, 7, 5000)] == [1, 2, 4, 32, 60, 60]


def test_keys_of_the_connector_say_how_it_is_started_again() -> None:
    policy = RestartPolicy(fenced=3)
    assert policy.of({}) == policy
    keys = {"frazil.restart.backoff.ms": "200", "frazil.restart.backoff.max.ms": "500"}
    own = policy.of({**keys, "frazil.restart.attempts": "2"})
    assert [own.wait_s(failures) for failures in (1, 2, 3)] == [0.2, 0.4, 0.5]
    assert [own.passes(failures, transient=True, fenced=False) for failures in (1, 2, 3)] == [True, True, False]
    assert own.passes(3, transient=False, fenced=True)
    assert policy.of({"frazil.restart.attempts": "-1"}).passes(1000, transient=True, fenced=False)
    assert not policy.of({"frazil.restart.attempts": "0"}).passes(1, transient=True, fenced=False)
    assert policy.of({"frazil.restart.attempts": "many", "frazil.restart.backoff.ms": "1"}) == policy


def test_a_connector_that_gives_up(make: Make, factory: ScriptedFactory) -> None:
    keys = {"frazil.restart.attempts": "1", "frazil.restart.backoff.ms": "100"}
    actor = make(Wanted(keys, 1, "RUNNING", 1))
    eventually(lambda: actor.status().task_state == "RUNNING")
    factory.last("c").fail("ServiceUnavailable: x", transient=True)
    eventually(lambda: actor.status().task_state == "RESTARTING")
    eventually(lambda: actor.status().task_state == "RUNNING")
    factory.last("c").fail("ServiceUnavailable: x", transient=True)
    eventually(lambda: actor.status().task_state == "FAILED")
    assert actor.restarts == 1


def test_failures_before_a_long_run_do_not_count_and_failed_starts_do(make: Make, factory: ScriptedFactory) -> None:
    actor = make(wanted(), RestartPolicy(first_s=0.01, healthy_s=0.0, attempts=1))
    for starts in (1, 2, 3):
        eventually(lambda starts=starts: factory.life("c").count("start") == starts)  # type: ignore[misc]
        eventually(lambda: actor.status() == RUNNING)
        factory.last("c").fail("ServiceUnavailable: x", transient=True)
    eventually(lambda: factory.life("c").count("start") == 4)

    def refuse(name: str) -> None:
        raise ServiceUnavailable("no")

    factory.before_start = refuse
    factory.last("c").fail("ServiceUnavailable: x", transient=True)
    eventually(lambda: actor.status().task_state == "FAILED")
    assert len(factory.runners["c"]) == 5


def test_it_runs_pauses_and_stops(make: Make, factory: ScriptedFactory) -> None:
    actor = make(wanted())
    eventually(lambda: actor.status() == RUNNING)
    actor.want(wanted("PAUSED"))
    eventually(lambda: actor.status() == ActorStatus("PAUSED", "PAUSED", 2))
    actor.want(wanted("RUNNING"))
    eventually(lambda: actor.status() == RUNNING)
    actor.want(wanted("STOPPED"))
    eventually(lambda: actor.status() == ActorStatus("STOPPED", "STOPPED", 0))
    assert factory.life("c") == ["start", "stop", "start", "stop"]


def test_a_connector_that_is_created_paused_has_no_tasks(make: Make, factory: ScriptedFactory) -> None:
    actor = make(wanted("PAUSED"))
    eventually(lambda: actor.status() == ActorStatus("PAUSED", "PAUSED", 0))
    assert factory.life("c") == []


def test_paused_shows_only_when_the_runner_has_stopped(make: Make, factory: ScriptedFactory) -> None:
    actor = make(wanted())
    eventually(lambda: actor.status() == RUNNING)
    release = threading.Event()
    factory.before_stop = lambda name: _wait(release)
    actor.want(wanted("PAUSED"))
    time.sleep(0.1)
    assert actor.status() == RUNNING
    release.set()
    eventually(lambda: actor.status().state == "PAUSED")


def _wait(event: threading.Event) -> None:
    assert event.wait(PATIENCE_S)


def test_pause_and_resume_before_the_next_turn_keep_the_runner(make: Make, factory: ScriptedFactory) -> None:
    started = threading.Event()
    factory.before_start = lambda name: _wait(started)
    actor = make(wanted())
    actor.want(wanted("PAUSED"))
    actor.want(wanted("RUNNING"))
    started.set()
    eventually(lambda: actor.status() == RUNNING)
    assert factory.life("c") == ["start"]


def test_a_terminal_error_at_the_start_is_failed_and_not_tried_again(make: Make, factory: ScriptedFactory) -> None:
    def refuse(name: str) -> None:
        raise ConfigError("table streaming.x does not exist; password s3cr3t")

    factory.before_start = refuse
    actor = make(wanted())
    eventually(lambda: actor.status().task_state == "FAILED")
    status = actor.status()
    assert (status.state, status.task_state, status.tasks) == ("RUNNING", "FAILED", 2)
    assert status.trace is not None
    assert status.trace.startswith("frazil.errors.ConfigError: table streaming.x does not exist; password [hidden]")
    assert "s3cr3t" not in status.trace
    time.sleep(0.3)
    assert len(factory.runners["c"]) == 1


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
@pytest.mark.parametrize("where", ["factory", "start", "status", "stop"])
def test_an_error_that_would_end_a_thread_fails_the_connector_which_goes_on_when_it_may(
    make: Make, factory: ScriptedFactory, error: BaseException, where: str
) -> None:
    failing = True

    def fail(*_: object) -> None:
        if failing:
            raise error

    class Failing(ScriptedFactory):
        def __call__(self, name: str, resolved: Resolved, changed: Callable[[], None]) -> ScriptedRunner:
            if where == "factory":
                fail()
            runner = super().__call__(name, resolved, changed)
            plain = runner.status
            if where == "status":

                def status() -> RunnerStatus:
                    fail()
                    return plain()

                runner.status = status  # type: ignore[method-assign]
            return runner

    factory.__class__ = Failing
    if where == "start":
        factory.before_start = fail
    if where == "stop":
        factory.before_stop = fail
    actor = make(wanted())
    if where in ("status", "stop"):
        eventually(lambda: actor.status() == RUNNING)
        actor.wake() if where == "status" else factory.last("c").fail("x")
    eventually(lambda: actor.status().has_failed)
    status = actor.status()
    assert status.state == ("FAILED" if where == "factory" else "RUNNING")
    if where != "stop":
        assert type(error).__name__ in (status.trace or "")
    failing = False
    assert actor.want(wanted(generation=2))
    eventually(lambda: actor.status() == RUNNING)
    failing = True
    actor.want(None)
    assert actor.join(time.monotonic() + PATIENCE_S)


def test_an_actor_that_has_ended_holds_no_secret(make: Make, factory: ScriptedFactory) -> None:
    providers = ConfigProviders({"env": EnvironmentProvider({"S": "s3cr3t"})})
    actor = make(Wanted({"p": "${env:S}"}, 1, "RUNNING", 1), providers=providers)
    eventually(lambda: actor.status().task_state == "RUNNING")
    assert actor._resolved.config == {"p": "s3cr3t"}  # noqa: SLF001
    actor.want(None)
    assert actor.join(time.monotonic() + PATIENCE_S)
    assert actor._resolved.config == {}  # noqa: SLF001


def test_tasks_alone_start_anew_and_fail_without_their_connector(make: Make, factory: ScriptedFactory) -> None:
    environ = {"S": "x"}
    actor = make(wanted(), providers=ConfigProviders({"env": EnvironmentProvider(environ)}))
    eventually(lambda: actor.status() == RUNNING)
    factory.before_stop = lambda name: time.sleep(0.05)
    actor.want(Wanted({"a": "${env:S}"}, 2, "RUNNING", 2, tasks_only=True))
    assert actor.status() == ActorStatus("RUNNING", "RESTARTING", 2)
    eventually(lambda: actor.status() == RUNNING)
    environ.clear()
    actor.want(Wanted({"a": "${env:S}"}, 2, "RUNNING", 3, tasks_only=True))
    eventually(lambda: actor.status().task_state == "FAILED")
    assert (actor.status().state, actor.status().tasks) == ("RUNNING", 2)


def test_a_fault_of_the_program_is_failed_too(make: Make, factory: ScriptedFactory) -> None:
    def crash(name: str) -> None:
        raise ZeroDivisionError("oops")

    factory.before_start = crash
    actor = make(wanted())
    eventually(lambda: actor.status().task_state == "FAILED")
    assert (actor.status().trace or "").startswith("frazil.errors.TerminalError: ZeroDivisionError: oops\nTraceback")


def test_a_connector_that_another_worker_has_taken_over_stays_failed(make: Make, factory: ScriptedFactory) -> None:
    actor = make(wanted())
    eventually(lambda: actor.status() == RUNNING)
    fenced = Fenced("another worker has committed")
    trace = failures.trace(failures.classify(fenced), fenced)
    factory.last("c").fail(trace, isinstance(failures.classify(fenced), TransientError))
    eventually(lambda: actor.status().task_state == "FAILED")
    time.sleep(0.3)
    assert actor.status() == ActorStatus("RUNNING", "FAILED", 2, trace)
    assert trace.startswith("frazil.errors.Fenced: another worker has committed")
    assert factory.life("c") == ["start", "stop"]


def test_a_transient_error_is_tried_again_until_it_succeeds(make: Make, factory: ScriptedFactory) -> None:
    attempts = iter(range(100))

    def flaky(name: str) -> None:
        if next(attempts) < 3:
            raise ServiceUnavailable("catalog does not answer")

    factory.before_start = flaky
    actor = make(wanted())
    eventually(lambda: actor.status().task_state == "RESTARTING")
    assert "catalog does not answer" in (actor.status().trace or "")
    eventually(lambda: actor.status() == RUNNING)
    assert len(factory.runners["c"]) == 4


def test_a_running_connector_that_fails_for_good_stays_failed_until_restart(
    make: Make, factory: ScriptedFactory
) -> None:
    actor = make(wanted())
    eventually(lambda: actor.status() == RUNNING)
    factory.last("c").fail("BadRecord: apilogs-0@7 column time")
    eventually(lambda: actor.status() == ActorStatus("RUNNING", "FAILED", 2, "BadRecord: apilogs-0@7 column time"))
    actor.want(wanted(generation=2))
    assert actor.status().state in ("RESTARTING", "RUNNING")
    eventually(lambda: actor.status() == RUNNING)
    assert factory.life("c") == ["start", "stop", "start"]


def test_a_running_connector_that_fails_for_a_while_is_started_again(make: Make, factory: ScriptedFactory) -> None:
    actor = make(wanted())
    eventually(lambda: actor.status() == RUNNING)
    factory.last("c").fail("ServiceUnavailable: broker", transient=True)
    eventually(lambda: len(factory.runners["c"]) == 2)
    eventually(lambda: actor.status() == RUNNING)


def test_a_paused_failed_connector_keeps_failed_tasks_and_resumes(make: Make, factory: ScriptedFactory) -> None:
    actor = make(wanted())
    eventually(lambda: actor.status() == RUNNING)
    factory.last("c").fail("BadRecord: x")
    eventually(lambda: actor.status().task_state == "FAILED")
    actor.want(wanted("PAUSED"))
    eventually(lambda: actor.status() == ActorStatus("PAUSED", "FAILED", 2, "BadRecord: x"))
    actor.want(wanted("RUNNING"))
    eventually(lambda: actor.status() == RUNNING)


def test_pausing_while_waiting_to_start_again_ends_the_waiting(make: Make, factory: ScriptedFactory) -> None:
    def refuse(name: str) -> None:
        raise ServiceUnavailable("no")

    factory.before_start = refuse
    actor = make(wanted())
    eventually(lambda: actor.status().task_state == "RESTARTING")
    actor.want(wanted("PAUSED"))
    eventually(lambda: actor.status().state == "PAUSED")
    attempts = len(factory.runners["c"])
    time.sleep(0.3)
    assert len(factory.runners["c"]) == attempts


def test_a_deleted_actor_ends_and_can_be_wanted_again_before_that(make: Make, factory: ScriptedFactory) -> None:
    actor = make(wanted())
    eventually(lambda: actor.status() == RUNNING)
    release = threading.Event()
    factory.before_stop = lambda name: _wait(release)
    assert actor.want(None)
    assert actor.want(wanted(generation=2))
    assert actor.status() == ActorStatus("UNASSIGNED", "UNASSIGNED", 0)
    release.set()
    eventually(lambda: actor.status() == RUNNING)
    assert factory.life("c") == ["start", "stop", "start"]
    assert actor.want(None)
    assert actor.join(time.monotonic() + PATIENCE_S)
    assert not actor.want(wanted(generation=3))


def test_a_runner_that_does_not_stop_in_order_does_not_block_the_connector(
    make: Make, factory: ScriptedFactory, caplog: pytest.LogCaptureFixture
) -> None:
    actor = make(wanted())
    eventually(lambda: actor.status() == RUNNING)

    def stuck(name: str) -> None:
        factory.before_stop = lambda name: None
        raise ServiceUnavailable("s3cr3t socket")

    factory.before_stop = stuck
    actor.want(wanted("STOPPED"))
    eventually(lambda: actor.status().state == "STOPPED")
    assert "did not stop in order" in caplog.text
    assert "s3cr3t" not in caplog.text


def test_an_action_runs_when_the_runner_has_stopped(make: Make, factory: ScriptedFactory) -> None:
    actor = make(wanted())
    eventually(lambda: actor.status() == RUNNING)
    actor.want(wanted("STOPPED"))
    assert actor.while_stopped(lambda: list(factory.life("c"))).result(PATIENCE_S) == ["start", "stop"]
    failing = actor.while_stopped(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        failing.result(PATIENCE_S)


@pytest.mark.parametrize("target", ["RUNNING", "PAUSED"])
def test_an_action_is_cancelled_when_the_connector_is_not_to_be_stopped(make: Make, target: TargetState) -> None:
    actor = make(wanted(target))
    future = actor.while_stopped(lambda: 1)
    with pytest.raises(CancelledError):
        future.result(PATIENCE_S)


def test_an_action_of_an_actor_that_has_ended_or_ends_is_cancelled(make: Make) -> None:
    actor = make(wanted("STOPPED"))
    assert actor.while_stopped(lambda: 1).result(PATIENCE_S) == 1
    actor.want(None)
    first = actor.while_stopped(lambda: 1)
    with pytest.raises(CancelledError):
        first.result(PATIENCE_S)
    assert actor.join(time.monotonic() + PATIENCE_S)
    assert actor.while_stopped(lambda: 1).cancelled()


def test_placeholders_are_resolved_at_each_start_and_shown_nowhere(
    make: Make, factory: ScriptedFactory, caplog: pytest.LogCaptureFixture
) -> None:
    environ = {"URI": "http://first"}
    providers = ConfigProviders({"env": EnvironmentProvider(environ)})
    actor = make(Wanted({"uri": "${env:URI}"}, 1, "RUNNING", 1), providers=providers)
    eventually(lambda: factory.life("c") == ["start"])
    assert factory.last("c").config == {"uri": "http://first"}
    environ["URI"] = "http://second"
    factory.last("c").fail("ServiceUnavailable: http://first does not answer", transient=True)
    eventually(lambda: factory.life("c") == ["start", "stop", "start"])
    assert factory.last("c").config == {"uri": "http://second"}
    factory.last("c").fail("ConfigError: http://second is wrong")
    eventually(lambda: actor.status().task_state == "FAILED")
    assert actor.status().trace == "ConfigError: [hidden] is wrong"
    assert "http://" not in caplog.text


def test_a_value_that_no_provider_has_is_a_failure_with_a_reason(make: Make, factory: ScriptedFactory) -> None:
    providers = ConfigProviders({"env": EnvironmentProvider({})})
    actor = make(Wanted({"a": "${env:NONE}"}, 1, "RUNNING", 1), providers=providers)
    eventually(lambda: actor.status().task_state == "FAILED")
    assert (actor.status().state, actor.status().tasks) == ("FAILED", 0)
    trace = actor.status().trace or ""
    assert trace.startswith(
        "frazil.errors.ConfigError: a: no value for ${env:NONE}: there is no NONE in the environment. Nothing was read."
    )
    assert factory.life("c") == []


def test_a_connector_that_has_outgrown_its_partitions_starts_again_without_a_failure(
    make: Make, factory: ScriptedFactory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    actor = make(wanted(), RestartPolicy(first_s=60.0))
    eventually(lambda: actor.status() == RUNNING)
    factory.last("c").fail("PartitionsAdded: topic t is new", transient=True, outgrown=True)
    eventually(lambda: factory.life("c") == ["start", "stop", "start"])
    eventually(lambda: actor.status() == RUNNING)
    assert "connector c starts again with what is new: PartitionsAdded: topic t is new" in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
