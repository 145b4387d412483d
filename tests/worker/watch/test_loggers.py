from __future__ import annotations

import logging
import time
import uuid

import pytest

from frazil.worker.watch.loggers import LEVELS, Loggers


@pytest.fixture
def name() -> str:
    """A logger with two below it."""
    name = f"loggers-{uuid.uuid4().hex}"
    for each in (name, f"{name}.a", f"{name}.a.b", f"{name}x"):
        logging.getLogger(each)
    return name


def test_a_change_reaches_all_below(name: str) -> None:
    loggers = Loggers()
    logging.getLogger(f"{name}.a").setLevel(logging.DEBUG)
    before = loggers.get(f"{name}x")
    logging.getLogger(name).setLevel(logging.WARNING)
    assert loggers.set(name, "DEBUG") == [name]
    assert loggers.set(name, "DEBUG") == []
    assert loggers.set(name, "ERROR") == [name, f"{name}.a", f"{name}.a.b"]
    assert logging.getLogger(f"{name}.a.b").getEffectiveLevel() == logging.ERROR
    assert loggers.get(f"{name}x") == before


def test_last_modified_is_null_until_changed(name: str) -> None:
    loggers = Loggers()
    found = loggers.get(name)
    assert found is not None
    assert found.last_modified is None
    loggers.set(name, "TRACE")
    changed = loggers.get(name)
    assert changed is not None
    assert changed.level == "TRACE"
    assert abs((changed.last_modified or 0) - time.time() * 1000) < 10_000


def test_a_logger_that_does_not_exist_is_made(name: str) -> None:
    loggers = Loggers()
    new = f"{name}.new"
    assert loggers.get(new) is None
    assert loggers.set(new, "FATAL") == [new]
    assert logging.getLogger(new).level == logging.CRITICAL
    assert loggers.get(new) == loggers.all()[new]


def test_off_is_left_out_of_the_list(name: str) -> None:
    loggers = Loggers()
    loggers.set(name, "OFF")
    assert name not in loggers.all()
    assert loggers.get(name) is not None
    assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)


@pytest.mark.parametrize("level", LEVELS)
def test_levels_come_back(name: str, level: str) -> None:
    loggers = Loggers()
    loggers.set(name, "WARN" if level == "INFO" else "INFO")
    assert loggers.set(name, level) == [name, f"{name}.a", f"{name}.a.b"]
    found = loggers.get(name)
    assert found is not None
    assert found.level == level


def test_root_in_any_case(name: str) -> None:
    loggers = Loggers()
    assert loggers.get("ROOT") == loggers.get("root") == loggers.all()["root"]


@pytest.mark.parametrize("name", ["root", "py4j", "py4j.clientserver"])
def test_what_prints_secrets_stays_at_info(name: str) -> None:
    logging.getLogger("py4j.clientserver")
    every = [logging.getLogger(), *map(logging.getLogger, logging.root.manager.loggerDict)]
    kept = [(logger, logger.level) for logger in every]
    loggers = Loggers()
    try:
        loggers.set(name, "TRACE")
        for each in ("py4j.clientserver", "py4j.clientserver.later"):
            assert not logging.getLogger(each).isEnabledFor(logging.DEBUG)
        found = loggers.get("py4j.clientserver")
        assert found is not None
        assert found.level == "TRACE"  # as it was set: an operator that looks does not set it again
        assert loggers.set(name, "ERROR")
        assert not logging.getLogger("py4j.clientserver").isEnabledFor(logging.WARNING)
    finally:
        for logger, number in kept:
            logger.setLevel(number)


def test_a_level_that_is_held_at_info_is_told_as_it_was_set() -> None:
    loggers, logger = Loggers(), logging.getLogger("urllib3")
    logger.setLevel(logging.WARNING)
    try:
        assert "urllib3" in loggers.set("urllib3", "DEBUG")
        assert loggers.set("urllib3", "DEBUG") == []
        assert not logger.isEnabledFor(logging.DEBUG)
        for found in (loggers.get("urllib3"), loggers.all()["urllib3"]):
            assert found is not None
            assert (found.level, found.last_modified is None) == ("DEBUG", False)
        assert "urllib3" in loggers.set("urllib3", "WARN")
        assert loggers.all()["urllib3"].level == "WARN"
    finally:
        logger.setLevel(logging.NOTSET)


def test_the_jvm_is_told(name: str) -> None:
    told: list[tuple[str, str]] = []
    Loggers(lambda each, level: told.append((each, level))).set(name, "WARN")
    assert told == [(name, "WARN")]
