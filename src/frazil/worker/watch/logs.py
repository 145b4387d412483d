"""The worker's log: lines on stderr, which the service keeps in a file."""

import json
import logging
import sys
import threading
import time
from datetime import UTC, datetime
from typing import Any

from frazil.connectors.keys.versions import VERSION
from frazil.declare.providers import ConfigProviders
from frazil.worker.watch.events import EventHandler, EventLog

logger = logging.getLogger(__name__)

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), 127)}
"""Control characters of records and servers, which could steer the terminal that shows the log; lines and tabs stay."""


class Formatter(logging.Formatter):
    """Lines with the time in UTC, without the secrets of connectors, whoever logs them."""

    def __init__(self, providers: ConfigProviders) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime
        self._providers = providers

    def format(self, record: logging.LogRecord) -> str:
        return self._providers.hide(super().format(record)).translate(_CONTROLS)


class EcsFormatter(logging.Formatter):
    """Objects of JSON with the fields of the Elastic Common Schema, one a line, without the secrets of connectors.

    What a record has as `labels` (connector, tables) and as `trace_id` is there as well.
    """

    def __init__(self, providers: ConfigProviders) -> None:
        super().__init__()
        self._providers = providers

    def format(self, record: logging.LogRecord) -> str:
        hide = self._providers.hide
        line: dict[str, Any] = {
            "@timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "log.level": record.levelname,
            "message": hide(record.getMessage()),
            "ecs.version": "8.11.0",
            "service.name": "frazil",
            "service.version": VERSION,
            "log.logger": record.name,
            "process.pid": record.process,
            "process.thread.name": record.threadName,
        }
        if labels := getattr(record, "labels", None):
            line["labels"] = labels
        if trace_id := getattr(record, "trace_id", ""):
            line["trace.id"] = trace_id
        if record.exc_info and record.exc_info[0] is not None:
            kind, error, _ = record.exc_info
            line["error.type"] = kind.__name__
            line["error.message"] = hide(str(error))
            line["error.stack_trace"] = hide(self.formatException(record.exc_info))
        return json.dumps(line).translate({127: "\\u007f"})


class Flood(logging.Filter):
    """Lets a logger write `most` records in `window_s` seconds, and tells how many more there were.

    What somebody outside can make the worker log does not fill the disk then. DEBUG is asked for, and passes.
    """

    def __init__(self, most: int = 500, window_s: float = 10.0) -> None:
        super().__init__()
        self._most = most
        self._window_s = window_s
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.INFO:
            return True
        with self._lock:
            begin, count = self._counts.get(record.name, (record.created, 0))
            left_out = 0
            if not begin <= record.created < begin + self._window_s:
                begin, count, left_out = record.created, 0, max(0, count - self._most)
            self._counts[record.name] = begin, count + 1
        if left_out:
            logger.warning("%d more records of %s are not in this log: there were too many", left_out, record.name)
        return count < self._most


def log_to_stderr(providers: ConfigProviders, events: EventLog, *, json_lines: bool = False) -> None:
    """Make the root logger write to stderr, text or JSON, and keep what is an event.

    Libraries that talk much are heard from WARN on.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(EcsFormatter(providers) if json_lines else Formatter(providers))
    handler.addFilter(Flood())
    threading.excepthook = _tell_end
    logging.basicConfig(level=logging.INFO, handlers=[handler, EventHandler(events, providers)], force=True)
    for noisy in ("py4j", "pyiceberg", "botocore", "httpx", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)  # what a batch raises is logged with its reason


def _tell_end(end: threading.ExceptHookArgs) -> None:
    """Log that a thread has ended by an error; Python itself says nothing of SystemExit."""
    name = "unknown" if end.thread is None else end.thread.name
    value = end.exc_value or end.exc_type()
    logger.critical("thread %s has ended by a fault of the program", name, exc_info=value)
