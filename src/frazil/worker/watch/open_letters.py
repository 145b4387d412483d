"""Numbers of open dead letters by connector, for pages that are looked at every few seconds."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import FrazilError
from frazil.pipeline.letters.count import count_open
from frazil.pipeline.letters.queues import queue_topics
from frazil.pipeline.offsets import Offsets

logger = logging.getLogger(__name__)

_FRESH_S, _PATIENCE_S = 5.0, 3.0


class OpenLetters:
    """Counts when somebody asks and the last look is some seconds ago, in a thread of its own.

    Dead letters are read again only when a topic has other messages than at the look before.
    """

    def __init__(self, bootstrap: str, configs: Callable[[], Iterable[Mapping[str, str]]]) -> None:
        """`configs` are those of all connectors."""
        self._bootstrap = bootstrap
        self._configs = configs
        self._lock = threading.Lock()
        self._began = float("-inf")
        self._thread = threading.Thread()
        self._known: Mapping[str, int] | None = None
        self._seen: tuple[Offsets, Offsets] | None = None

    def known(self) -> Mapping[str, int] | None:
        """The numbers by connector; None while they are not known: Kafka does not answer, or counting takes long."""
        with self._lock:
            now = time.monotonic()
            if not self._thread.is_alive() and now - self._began >= _FRESH_S:
                self._began = now
                self._thread = threading.Thread(target=self._look, name="open dead letters", daemon=True)
                self._thread.start()
            looking = self._thread
        if looking.is_alive():
            looking.join(_PATIENCE_S)
        return self._known

    def _look(self) -> None:
        try:
            topics = queue_topics(kafka_topics.topics(self._bootstrap), self._configs())
            begins, ends = (
                read(self._bootstrap, topics) for read in (kafka_offsets.begin_offsets, kafka_offsets.end_offsets)
            )
            if self._seen != (begins, ends):
                self._known, self._seen = count_open(self._bootstrap, topics), (begins, ends)
        except Exception as error:
            self._known = self._seen = None
            logger.warning(
                "the open dead letters are not known: %s", error, exc_info=not isinstance(error, FrazilError)
            )
