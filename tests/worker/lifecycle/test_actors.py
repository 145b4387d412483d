from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from frazil.declare.providers import ConfigProviders
from frazil.engine.runner_api import TargetState
from frazil.worker.lifecycle.actors import Actors
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.store import StoredConnector
from tests.waits import PATIENCE_S, eventually
from tests.worker.lifecycle.runners import ScriptedFactory

NAMES = [f"c{number}" for number in range(200)]
THREADS = 32 + 1  # turns, and the timer


@pytest.fixture
def actors(factory: ScriptedFactory) -> Iterator[Actors]:
    actors = Actors(factory, RestartPolicy(0.01, 0.02), ConfigProviders(), lambda name, status: None)
    yield actors
    assert actors.close(30.0)


def apply(actors: Actors, name: str, target: TargetState = "RUNNING") -> None:
    actors.apply(name, StoredConnector({"name": name}, target), renew=False)


def states(actors: Actors) -> set[str]:
    return {status.task_state for status in map(actors.status, actors.names()) if status is not None}


def test_many_connectors_share_few_threads(actors: Actors, factory: ScriptedFactory) -> None:
    before = set(threading.enumerate())
    most = 0
    lock = threading.Lock()

    def count(name: str) -> None:
        nonlocal most
        with lock:
            most = max(most, len(set(threading.enumerate()) - before))

    factory.before_start = factory.before_stop = count
    for name in NAMES:
        apply(actors, name)
    eventually(lambda: states(actors) == {"RUNNING"})
    for name in NAMES:
        factory.last(name).fail("ServiceUnavailable: x", transient=True)
    eventually(lambda: all(factory.life(name) == ["start", "stop", "start"] for name in NAMES))
    for name in NAMES:
        apply(actors, name, "PAUSED")
    eventually(lambda: states(actors) == {"PAUSED"})
    assert 1 < most <= THREADS


def test_starts_that_block_hold_up_no_other_connector(actors: Actors, factory: ScriptedFactory) -> None:
    release = threading.Event()
    factory.before_start = lambda name: assert_released(name, release)
    blocked = [f"blocked{number}" for number in range(20)]
    for name in blocked:
        apply(actors, name)
    for name in NAMES:
        apply(actors, name)
    eventually(lambda: all(factory.life(name) == ["start"] for name in NAMES))
    for name in NAMES:
        apply(actors, name, "STOPPED")
    eventually(lambda: all(factory.life(name) == ["start", "stop"] for name in NAMES))
    assert not any(factory.life(name) for name in blocked)
    release.set()
    eventually(lambda: all(factory.life(name) == ["start"] for name in blocked))


def assert_released(name: str, release: threading.Event) -> None:
    assert not name.startswith("blocked") or release.wait(PATIENCE_S)


def test_no_thread_is_left_when_all_have_stopped(factory: ScriptedFactory) -> None:
    before = set(threading.enumerate())
    actors = Actors(factory, RestartPolicy(3600.0, 3600.0), ConfigProviders(), lambda name, status: None)
    for name in NAMES[:40]:
        apply(actors, name)
    eventually(lambda: states(actors) == {"RUNNING"})
    factory.last(NAMES[0]).fail("ServiceUnavailable: x", transient=True)
    eventually(lambda: states(actors) == {"RUNNING", "RESTARTING"})
    assert sum(actors.restarts().values()) == actors.restarts()[NAMES[0]] == 1
    assert actors.close(10.0)
    eventually(lambda: not set(threading.enumerate()) - before)
