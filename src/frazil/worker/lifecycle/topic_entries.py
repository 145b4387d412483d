"""The connectors of the worker's topics file: made, changed and deleted as the file says."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping

from frazil.clients.credentials import with_store_access
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.objects import ObjectStore
from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.connectors.topics.topic_connectors import ENTRY_KEY
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, NotFound
from frazil.worker.lifecycle.herder import Herder

logger = logging.getLogger(__name__)

_RETRY_S = 1.0
_BROKER_DEFAULT = -1


class TopicEntries:
    """Brings the connectors of a herder to those of a file, given by name."""

    def __init__(
        self, herder: Herder, wanted: Mapping[str, Mapping[str, str]], settings: Settings, bootstrap: str
    ) -> None:
        self._herder = herder
        self._wanted = wanted
        self._settings = settings
        self._bootstrap = bootstrap

    def keep(self, stop: threading.Event, leads: Callable[[], bool]) -> None:
        """Apply the file in the background whenever this worker begins to lead, until it worked or `stop` is set."""
        threading.Thread(target=self._run, args=(stop, leads), name="topics-file", daemon=True).start()

    def _run(self, stop: threading.Event, leads: Callable[[], bool]) -> None:
        applied, told = False, ""
        while True:
            if not leads():
                applied = False
            elif not applied:
                try:
                    self.apply()
                    applied, told = True, ""
                except Exception as error:
                    if str(error) != told:
                        told = str(error)
                        logger.warning(
                            "the topics file is not applied yet and is tried again: %s",
                            error,
                            exc_info=not isinstance(error, FrazilError),
                        )
            if stop.wait(_RETRY_S):
                return

    def apply(self) -> None:
        """Bring all connectors of the file to what it says; raises FrazilError, and may be repeated then.

        A connector that somebody else made is left alone, with an error in the log.
        """
        done: Counter[str] = Counter()
        self._prepare()
        for name in self._herder.connectors():
            try:
                entry = self._herder.info(name).config.get(ENTRY_KEY)
            except NotFound:
                continue  # deleted meanwhile
            if entry == name and name not in self._wanted:
                self._herder.delete(name)
                done["deleted"] += 1
                logger.info("connector %s is deleted: its entry is not in the topics file any more", name)
        for name, config in self._wanted.items():
            done[self._apply(name, config)] += 1
        logger.info("topics file: %s", ", ".join(f"{count} {what}" for what, count in done.items()))

    def _apply(self, name: str, config: Mapping[str, str]) -> str:
        try:
            before = self._herder.info(name).config
        except NotFound:
            self._herder.create(name, config)
            return "created"
        if before.get(ENTRY_KEY) != name:
            logger.error(
                "connector %s was not made from the topics file, so its entry there is not applied; give the entry "
                "another name, or delete the connector and start the worker again",
                name,
            )
            return "left alone"
        if before == config:
            return "unchanged"
        self._herder.put_config(name, config)
        return "changed"

    def _prepare(self) -> None:
        """Make topics and buckets that are missing on the embedded stack; those of others are left to their owners."""
        sinks = [object_sink_config(config) for config in self._wanted.values()]
        if not self._settings.kafka_external:
            topics: dict[str, tuple[int, dict[str, str]]] = {
                topic: (_BROKER_DEFAULT, {}) for sink in sinks for topic in sink.topics
            }
            made = [topic for topic, is_new in kafka_topics.ensure_topics(self._bootstrap, topics).items() if is_new]
            if made:
                logger.info("made topics %s", ", ".join(made))
        if self._settings.s3_external:
            return
        stores = {sink.store.bucket: sink.store for sink in sinks if sink.store.endpoint == self._settings.s3_endpoint}
        for bucket, store in stores.items():
            if ObjectStore(with_store_access(store, self._settings)).create():
                logger.info("made bucket %s", bucket)
