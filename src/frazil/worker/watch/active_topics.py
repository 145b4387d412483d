"""Topics that connectors have read, as GET /connectors/{name}/topics lists them."""

import threading
from typing import Protocol

from frazil.pipeline.report import BatchReport


class TopicBoard(Protocol):
    """Board on which active topics are kept."""

    def add_topic(self, name: str, topic: str) -> None:
        """Remember that a connector has read a topic; returns at once."""

    def topics_of(self, name: str) -> list[str]:
        """Topics of a connector, sorted."""
        ...

    def reset_topics(self, name: str) -> None:
        """Forget the topics of a connector."""


class KeptTopics:
    """A `TopicBoard` in memory, for a worker that is alone: topics since it started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._topics: dict[str, set[str]] = {}

    def add_topic(self, name: str, topic: str) -> None:
        with self._lock:
            self._topics.setdefault(name, set()).add(topic)

    def topics_of(self, name: str) -> list[str]:
        with self._lock:
            return sorted(self._topics.get(name, ()))

    def reset_topics(self, name: str) -> None:
        with self._lock:
            self._topics.pop(name, None)


class ActiveTopics:
    """Topics by connector, since the list was reset.

    `enabled` is `topic.tracking.enable` of the worker, `resettable` is `topic.tracking.allow.reset`.
    """

    def __init__(self, enabled: bool = True, resettable: bool = True, board: TopicBoard | None = None) -> None:
        self.enabled = enabled
        self.resettable = resettable
        self._board = board or KeptTopics()

    def observe(self, report: BatchReport) -> None:
        """Add the topics of a committed batch."""
        if self.enabled:
            for topic in {topic for topic, _ in report.end_offsets}:
                self._board.add_topic(report.connector, topic)

    def of(self, connector: str) -> list[str]:
        """Topics that the connector has read, sorted; empty when it is unknown or has read nothing."""
        return self._board.topics_of(connector)

    def reset(self, connector: str) -> None:
        """Forget the topics of a connector."""
        self._board.reset_topics(connector)
