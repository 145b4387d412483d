"""Levels of the worker's loggers, in the words of Kafka Connect."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

ROOT = "root"
LEVELS = {"OFF": 100, "FATAL": 50, "ERROR": 40, "WARN": 30, "INFO": 20, "DEBUG": 10, "TRACE": 5, "ALL": 1}
"""Levels of Log4j, by the number that Python's logging has for them."""

_LEAST = dict.fromkeys(("py4j", "botocore", "boto3", "urllib3"), LEVELS["INFO"])
"""Loggers that print below INFO what goes over a connection: access keys, passwords, the token of Spark's JVM."""


@dataclass(frozen=True)
class LoggerLevel:
    """`last_modified` is in milliseconds since 1970; None for a level that was not set through `Loggers`."""

    level: str
    last_modified: int | None


class Loggers:
    """The loggers of this process. A change is passed on to Spark's JVM, whose logger names differ from Python's."""

    def __init__(self, jvm: Callable[[str, str], None] = lambda name, level: None) -> None:
        self._jvm = jvm
        self._lock = threading.Lock()
        self._modified: dict[str, int] = {}
        self._asked: dict[str, int] = {}
        """Levels that were asked for of loggers that stay at INFO."""

    def all(self) -> dict[str, LoggerLevel]:
        """Every logger that is not OFF, by name."""
        with self._lock:
            levels = {name: self._level(name, logger) for name, logger in _loggers().items()}
        return {name: level for name, level in sorted(levels.items()) if level.level != "OFF"}

    def get(self, name: str) -> LoggerLevel | None:
        """The level of a logger; None when there is none of that name."""
        name = _canonical(name)
        with self._lock:
            logger = _loggers().get(name)
            return None if logger is None else self._level(name, logger)

    def set(self, name: str, level: str) -> list[str]:
        """Set a logger and all below it to a level of `LEVELS`; the names of those that changed, sorted.

        A logger that does not exist is made. Those that would print secrets stay at INFO, and are told as they were
        set, so that who looks does not set them again.
        """
        name = _canonical(name)
        with self._lock:
            known = _loggers() | {each: logging.getLogger(each) for each in _LEAST}
            before = {each: self._told(each, logger) for each, logger in known.items()}
            known.setdefault(name, logging.getLogger(name))
            below = {
                each: logger for each, logger in known.items() if name == ROOT or f"{each}.".startswith(f"{name}.")
            }
            changed = sorted(each for each in below if before.get(each) != LEVELS[level])
            for each, logger in below.items():
                logger.setLevel(max(LEVELS[level], _least(each)))
                self._asked.pop(each, None)
                if LEVELS[level] < _least(each):
                    self._asked[each] = LEVELS[level]
            self._modified.update(dict.fromkeys(changed, int(time.time() * 1000)))
            self._jvm(name, level)
        return changed

    def _level(self, name: str, logger: logging.Logger) -> LoggerLevel:
        number = self._told(name, logger)
        level = next((text for text, least in LEVELS.items() if number >= least), "ALL")
        return LoggerLevel(level, self._modified.get(name))

    def _told(self, name: str, logger: logging.Logger) -> int:
        own = logger.level == logging.NOTSET and _least(name)
        return self._asked.get(name.partition(".")[0] if own else name, logger.getEffectiveLevel())


def _least(name: str) -> int:
    return _LEAST.get(name.partition(".")[0], 0)


def _canonical(name: str) -> str:
    return ROOT if name.lower() == ROOT else name


def _loggers() -> dict[str, logging.Logger]:
    named = logging.Logger.manager.loggerDict.copy()
    known = {name: logger for name, logger in named.items() if isinstance(logger, logging.Logger)}
    return {ROOT: logging.getLogger(), **known}
