"""Topics that connectors have read, as GET /connectors/{name}/topics lists them."""

from __future__ import annotations

import threading

from frazil.pipeline.report import BatchReport


class ActiveTopics:
    """Topics by connector, since the worker started or the list was reset.

    `enabled` is `topic.tracking.enable` of the worker, `resettable` is `topic.tracking.allow.reset`.
    """

    def __init__(self, enabled: bool = True, resettable: bool = True) -> None:
        self.enabled = enabled
        self.resettable = resettable
        self._lock = threading.Lock()
        self._topics: dict[str, set[str]] = {}

    def observe(self, report: BatchReport) -> None:
        """Add the topics of a committed batch."""
        with self._lock:
            self._topics.setdefault(report.connector, set()).update(topic for topic, _ in report.end_offsets)

    def of(self, connector: str) -> list[str]:
        """Sorted; empty when the connector is unknown or has read nothing."""
        with self._lock:
            return sorted(self._topics.get(connector, ()))

    def reset(self, connector: str) -> None:
        """Forget the topics of a connector."""
        with self._lock:
            self._topics.pop(connector, None)
