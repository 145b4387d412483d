"""A Kafka producer whose callbacks run in a thread of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import Producer

_POLL_S = 0.1
_LOOK_S = 0.005
_DROP_S = 1.0


class PolledProducer:
    """librdkafka's producer, to be used as a context manager; leaving it drops what was not sent.

    librdkafka loses what is raised in a callback, and Ctrl+C is raised in whatever the main thread runs: a call of poll
    or flush there may then end without reason, and the program go on or crash. So another thread polls.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._producer = Producer(dict(config))
        self._ended = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="producer")

    def __enter__(self) -> PolledProducer:
        self._polling = self._thread.submit(self._poll)
        return self

    def __exit__(self, *raised: object) -> None:
        self._producer.purge()
        try:
            self.wait(_DROP_S)
        finally:
            self._ended.set()
            self._thread.shutdown()

    def _poll(self) -> None:
        while not self._ended.is_set():
            self._producer.poll(_POLL_S)

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        *,
        key: bytes | None = None,
        partition: int = -1,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
    ) -> None:
        """Queue a record; partition -1 leaves the choice to the partitioner, no timestamp means now.

        Raises BufferError while the queue is full, KafkaException for a record that cannot be sent.
        """
        when: dict[str, Any] = {} if timestamp is None else {"timestamp": timestamp}
        self._producer.produce(topic, value, key=key, partition=partition, headers=list(headers), **when)

    def topic(self, name: str, timeout: float) -> Any:
        """Metadata of a topic, as librdkafka names it. Raises KafkaException."""
        return self._producer.list_topics(name, timeout=timeout).topics[name]

    def wait(self, seconds: float) -> int:
        """Return when everything is delivered or has failed, or after so many seconds; how many records are left.

        Raises what a callback has raised.
        """
        deadline = time.monotonic() + seconds
        while left := len(self._producer):
            if self._polling.done():
                self._polling.result()
            if time.monotonic() >= deadline:
                return left
            time.sleep(_LOOK_S)
        return 0
