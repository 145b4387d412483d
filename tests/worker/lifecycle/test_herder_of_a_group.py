"""A herder that is told which connectors are its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from frazil.errors import NotFound, Rebalancing
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.status import ConnectorStatus
from frazil.worker.lifecycle.store import FileConfigStore
from tests.waits import PATIENCE_S, eventually
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.rest.requests import sink


class Board:
    """What this worker has told, beside what others have."""

    def __init__(self) -> None:
        self.told: dict[str, ConnectorStatus] = {}

    def publish(self, status: ConnectorStatus) -> None:
        self.told[status.name] = status

    def of(self, name: str) -> ConnectorStatus | None:
        return self.told.get(name)

    def forget(self, name: str) -> None:
        self.told.pop(name, None)


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def herder(store: FileConfigStore, factory: ScriptedFactory, board: Board) -> Iterator[Herder]:
    herder = Herder(store, factory, "here:1", RestartPolicy(0.05, 0.2, fenced=2), board=board)
    herder.start()
    yield herder
    assert herder.close(10.0)


def state(herder: Herder, name: str) -> tuple[str, str]:
    status = herder.status(name)
    return status.overall, status.worker_id


def test_nothing_runs_until_it_is_given(herder: Herder, factory: ScriptedFactory, board: Board) -> None:
    herder.create("a", sink("a"))
    herder.create("b", sink("b"))
    assert herder.running_here() == []
    assert state(herder, "a") == ("UNASSIGNED", "here:1")
    herder.own(lambda name: name == "a")
    eventually(lambda: state(herder, "a") == ("RUNNING", "here:1"))
    assert herder.running_here() == ["a"]
    assert board.told["a"] == herder.status("a")
    assert "b" not in factory.runners


def test_what_others_run_is_what_they_tell(herder: Herder, board: Board) -> None:
    herder.create("a", sink("a"))
    told = ConnectorStatus("FAILED", "there:1", "why", name="a", tasks={}, type="unknown")
    board.publish(told)
    assert state(herder, "a") == ("FAILED", "there:1")
    assert herder.status("a").type == "sink"
    for call in (lambda: herder.restart("a"), lambda: herder.restart_task("a", 0)):
        with pytest.raises(Rebalancing, match="conflicting operation"):
            call()
    herder.stop("a")
    with pytest.raises(Rebalancing):
        herder.while_stopped("a", lambda config: None)
    assert herder.info("a").tasks == 0


def test_what_is_taken_away_has_stopped_before_that_is_told(
    herder: Herder, factory: ScriptedFactory, board: Board
) -> None:
    for name in ("a", "b"):
        herder.create(name, sink(name))
    herder.own(lambda name: True)
    eventually(lambda: {state(herder, name)[0] for name in ("a", "b")} == {"RUNNING"})
    assert herder.own(lambda name: name == "b")
    assert factory.life("a") == ["start", "stop"]
    assert (board.told["a"].state, len(board.told["a"].tasks)) == ("UNASSIGNED", 1)
    herder.put_config("a", sink("a", tasks__max="2"))
    time.sleep(0.05)
    assert factory.life("a") == ["start", "stop"]
    assert factory.life("b") == ["start"]
    herder.own(lambda name: True)
    eventually(lambda: len(herder.status("a").tasks) == 2 and state(herder, "a")[0] == "RUNNING")


def test_a_runner_that_does_not_stop_is_waited_for_by_the_next(herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("a", sink("a"))
    herder.own(lambda name: True)
    eventually(lambda: state(herder, "a")[0] == "RUNNING")
    release = threading.Event()
    factory.before_stop = lambda name: assert_released(release)
    assert not herder.own(lambda name: False, timeout=0.2)
    herder.own(lambda name: True)
    time.sleep(0.1)
    assert factory.life("a") == ["start"]
    release.set()
    eventually(lambda: factory.life("a") == ["start", "stop", "start"])


def assert_released(release: threading.Event) -> None:
    assert release.wait(PATIENCE_S)


def test_a_query_that_could_not_be_started_is_started_by_the_next_try(
    herder: Herder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    herder.create("a", sink("a"))
    with monkeypatch.context() as without_threads:
        without_threads.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            herder.own(lambda name: True)
    assert state(herder, "a")[0] == "UNASSIGNED"
    herder.own(lambda name: True)
    eventually(lambda: state(herder, "a") == ("RUNNING", "here:1"))


def test_what_another_has_told_late_is_put_right(herder: Herder, board: Board) -> None:
    herder.create("a", sink("a"))
    herder.own(lambda name: True)
    eventually(lambda: state(herder, "a")[0] == "RUNNING")
    board.publish(ConnectorStatus("UNASSIGNED", "there:1", name="a", tasks={}, type="unknown"))
    assert state(herder, "a") == ("RUNNING", "here:1")
    herder.remind()
    assert board.told["a"] == herder.status("a")


def test_a_deleted_connector_is_forgotten(herder: Herder, factory: ScriptedFactory, board: Board) -> None:
    herder.create("a", sink("a"))
    herder.own(lambda name: True)
    eventually(lambda: state(herder, "a")[0] == "RUNNING")
    herder.delete("a")
    with pytest.raises(NotFound):
        herder.status("a")
    eventually(lambda: factory.life("a") == ["start", "stop"])
    eventually(lambda: board.told == {})


def test_a_worker_that_was_before_this_one_may_have_stored_a_batch(herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("a", sink("a"))
    herder.own(lambda name: True)
    for starts in (1, 2, 3):
        eventually(lambda starts=starts: factory.life("a").count("start") == starts)  # type: ignore[misc]
        eventually(lambda: state(herder, "a")[0] == "RUNNING")
        factory.last("a").fail("Fenced: x", fenced=True)
    eventually(lambda: state(herder, "a")[0] == "FAILED")
    assert factory.life("a").count("start") == 3
