"""Lines of the loggers of tasks and calls that tasks make, told to the driver beside their results.

Lines of a task are the driver's own then: without secrets, in its format, in one place on a cluster too. What a task
has logged before it failed goes to the stderr of its process.
"""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging.handlers import QueueHandler
from queue import SimpleQueue

from frazil.clients import calls

_PROCESS = uuid.uuid4().hex
"""Name of this process, which those that Spark forks of its daemon share with that one, and not with the driver."""
_MOST_LINES = 1000
"""Lines of a task that are kept; who asks for DEBUG gets the first ones."""


@dataclass
class Told:
    """Lines and calls of one task; `left_out` counts the lines beyond the first ones."""

    lines: list[logging.LogRecord] = field(default_factory=list)
    calls: list[calls.Answered] = field(default_factory=list)
    left_out: int = 0


@dataclass(frozen=True)
class Driver:
    """The driver as its tasks know it: the name of its process, and levels of loggers by name."""

    process: str
    levels: Mapping[str, int]

    @classmethod
    def here(cls) -> Driver:
        """This process, with the levels that its loggers have now."""
        named = logging.Logger.manager.loggerDict.copy().items()
        own = {name: logger.level for name, logger in named if isinstance(logger, logging.Logger) and logger.level}
        return cls(_PROCESS, {"": logging.getLogger().level, **own})

    @contextmanager
    def listens(self) -> Iterator[Told]:
        """Collect what a task tells, in a process that has one at a time; nothing in the driver's own process."""
        told = Told()
        if self.process == _PROCESS:
            yield told
            return
        for name, level in self.levels.items():
            logging.getLogger(name).setLevel(level)
        root, collecting = logging.getLogger(), _Collecting(told)
        root.addHandler(collecting)
        try:
            with calls.listening(told.calls.append):
                yield told
        except BaseException:
            for line in told.lines:
                print(f"{line.levelname} {line.name}: {line.getMessage()}", file=sys.stderr)
            raise
        finally:
            root.removeHandler(collecting)


def take(told: Told) -> None:
    """Log the lines of a task as if they were of this process, and count its calls."""
    for line in told.lines:
        logger = logging.getLogger(line.name)
        if logger.isEnabledFor(line.levelno):
            logger.handle(line)
    if told.left_out:
        logging.getLogger(__name__).warning("%d more lines of a task are left out", told.left_out)
    for call in told.calls:
        call.count()


class _Collecting(QueueHandler):
    """Keeps lines so that they can be sent."""

    def __init__(self, told: Told) -> None:
        super().__init__(SimpleQueue())  # stays empty
        self._told = told

    def enqueue(self, record: logging.LogRecord) -> None:
        """Keep a line that `prepare` has made a text."""
        if len(self._told.lines) < _MOST_LINES:
            self._told.lines.append(record)
        else:
            self._told.left_out += 1
