"""Lines and calls that a task tells its driver."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator

import pytest

from frazil.clients.calls import timed
from frazil.engine import listening
from frazil.engine.listening import Driver, take
from tests.clients.test_calls import counts

QUIET, LOUD = "task.quiet", "task.loud"


@pytest.fixture
def driver() -> Iterator[Driver]:
    """A driver in another process, which wants to hear more of one logger."""
    root = logging.getLogger().level
    yield Driver("another", {"": logging.INFO, QUIET: logging.ERROR, LOUD: logging.DEBUG})
    for name, level in {"": root, QUIET: logging.NOTSET, LOUD: logging.NOTSET}.items():
        logging.getLogger(name).setLevel(level)


def test_lines_of_a_task_are_logged_by_the_driver_at_its_levels(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    with driver.listens() as told:
        logging.getLogger(LOUD).debug("read %d of %s", 3, object(), extra={"labels": {"connector": "c"}})
        logging.getLogger(QUIET).warning("not asked for")
        try:
            raise ZeroDivisionError("oops")
        except ZeroDivisionError:
            logging.getLogger("task.other").exception("it failed")
    told = pickle.loads(pickle.dumps(told))  # noqa: S301 - as Spark does
    caplog.clear()
    take(told)
    debug, failed = caplog.records
    assert (debug.name, debug.levelname, debug.labels) == (LOUD, "DEBUG", {"connector": "c"})  # type: ignore[attr-defined]
    assert debug.getMessage().startswith("read 3 of <object")
    assert "it failed\nTraceback" in failed.getMessage()
    assert "ZeroDivisionError: oops" in failed.getMessage()


def test_a_level_that_was_set_back_meanwhile_counts(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    with driver.listens() as told:
        logging.getLogger(LOUD).debug("x")
    logging.getLogger(LOUD).setLevel(logging.INFO)
    caplog.clear()
    take(told)
    assert caplog.records == []


def test_no_more_lines_are_kept_than_may_be(
    driver: Driver, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_MOST_LINES", 2)
    with driver.listens() as told:
        for number in range(5):
            logging.getLogger(LOUD).debug("%d", number)
    caplog.clear()
    take(told)
    assert [record.getMessage() for record in caplog.records] == ["0", "1", "3 more lines of a task are left out"]


def test_what_a_task_has_logged_before_it_failed_is_on_its_stderr(
    driver: Driver, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="bad"), driver.listens():
        logging.getLogger(LOUD).debug("before")
        raise ValueError("bad")
    assert capsys.readouterr().err == "DEBUG task.loud: before\n"


def test_calls_of_a_task_are_counted_by_the_driver(driver: Driver) -> None:
    with driver.listens() as told, timed("store"):
        pass
    before = counts("store")["done"]
    take(told)
    assert counts("store")["done"] == before + 1


def test_a_task_in_the_drivers_own_process_tells_nothing_twice() -> None:
    with Driver.here().listens() as told, timed("store"):
        logging.getLogger("task").error("once")
    assert (told.lines, told.calls) == ([], [])


def test_a_driver_tells_the_levels_that_were_set(driver: Driver) -> None:
    logging.getLogger(LOUD).setLevel(logging.DEBUG)
    assert Driver.here().levels[LOUD] == logging.DEBUG
    assert QUIET not in Driver.here().levels
