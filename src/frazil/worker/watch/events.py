"""Events of the worker: what its connectors went through, and what users changed, from where."""

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from frazil.declare.providers import ConfigProviders
from frazil.text.events import KEPT

logger = logging.getLogger(__name__)

_MOST_TEXT = 2000
_MOST_NAME = 300
_MOST_COUNTS = 20_000


@dataclass(frozen=True)
class Event:
    """Event at a time in epoch seconds; a request has its user, if there are users, and its client's address."""

    at: float
    kind: str
    message: str
    connector: str = ""
    user: str = ""
    client: str = ""


class EventLog:
    """The newest events, which outlive the worker in a file; any thread may add one.

    The file is moved aside when it has `KEPT` lines, over the one that was before. Without `path` they are in memory
    alone. A disk that takes no more costs the events that are not in the file, and no connector.
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._newest: deque[Event] = deque(maxlen=KEPT)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lines = 0
        self._fails = False
        if path is not None:
            for file in (_old(path), path):
                found = _read(file)
                self._lines = len(found)
                self._newest.extend(found)

    def add(self, kind: str, message: str, connector: str = "", user: str = "", client: str = "") -> None:
        """Add an event that happens now."""
        names = (name[:_MOST_NAME] for name in (connector, user, client))
        made = Event(round(self._clock(), 3), kind, message[:_MOST_TEXT], *names)
        with self._lock:
            self._newest.append(made)
            if self._path is None:
                return
            try:
                if self._lines >= KEPT:
                    self._path.replace(_old(self._path))
                    self._lines = 0
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(made)) + "\n")
            except OSError as error:
                if not self._fails:
                    logger.warning("events are not kept: %s", error)
                self._fails = True
            else:
                self._lines += 1
                self._fails = False

    def count(self, kind: str, connector: str) -> None:
        """Count an event of a connector that there is, or of the worker without one, for `counts`."""
        with self._lock:
            if len(self._counts) >= _MOST_COUNTS:  # nobody has asked for them while connectors came and went
                self._counts.clear()
            self._counts[connector, kind] += 1

    def counts(self, present: Collection[str]) -> dict[tuple[str, str], int]:
        """Counted events by connector and kind, of the worker and of connectors that are present."""
        with self._lock:
            for key in [key for key in self._counts if key[0] and key[0] not in present]:
                del self._counts[key]
            return dict(self._counts)

    def newest(self, count: int, connector: str | None = None) -> list[Event]:
        """Give the newest events, of one connector or of all, the newest first."""
        with self._lock:
            found = [
                each for each in reversed(self._newest) if connector is None or each.connector == connector[:_MOST_NAME]
            ]
        return found[:count]


class EventHandler(logging.Handler):
    """Adds the log records that `frazil.text.events` marks, without the secrets of connectors."""

    def __init__(self, events: EventLog, providers: ConfigProviders) -> None:
        super().__init__()
        self._events = events
        self._providers = providers

    def emit(self, record: logging.LogRecord) -> None:
        """Add a record, unless it is none of the marked."""
        kind = getattr(record, "event", None)
        if kind is not None:
            connector = getattr(record, "labels", {}).get("connector", "")
            self._events.add(kind, self._providers.hide(record.getMessage()), connector)
            self._events.count(kind, connector)


def _old(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def _read(path: Path) -> list[Event]:
    """Read the events of a file; a line that a kill has cut off is none."""
    found = []
    with suppress(FileNotFoundError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, TypeError):
                found.append(Event(**json.loads(line)))
    return found
