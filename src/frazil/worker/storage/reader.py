"""Follows a compacted topic from its first record on, in a thread of its own."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from frazil.errors import ServiceUnavailable
from frazil.worker.storage.records import Malformed

logger = logging.getLogger(__name__)

Apply = Callable[[str, bytes | None], None]
"""Takes key and value of each record, in the order of its partition; raises Malformed for one to pass over.

After any other error the newest record of a key is given again, so a call may repeat one that has ended half-way."""

_POLL_S = 0.2
_START_S = 60.0
_AGAIN_S = 1.0


class TopicReader:
    """Calls `apply` for every committed record of a topic until it is closed.

    A record that `apply` fails on keeps no other from being read: it is given again every second, until it is applied
    or a newer one of its key is.
    """

    def __init__(self, client: Mapping[str, Any], group: str, topic: str, apply: Apply) -> None:
        self._topic = topic
        self._apply = apply
        self._consumer = Consumer(
            {
                **client,
                "group.id": group,  # asked for by the client; the reader is no member and commits nothing
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        self._moved = threading.Condition()
        self._positions: dict[int, int] = {}
        self._ended: set[int] = set()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"read-{topic}", daemon=True)
        self._told: KafkaError | None = None
        self._failed: dict[str, tuple[bytes | None, str, str]] = {}
        """Values of the records that are to be applied again, places of the records and reasons, by key."""
        self._passed_over: dict[str, str] = {}
        """Reasons for which the newest records of keys make no sense."""
        self._next_try = 0.0

    def start(self) -> None:
        """Return when every record that the topic has was read.

        Raises ServiceUnavailable when that takes more than 60 s.
        """
        try:
            known = self._consumer.list_topics(self._topic, timeout=_START_S).topics[self._topic]
            if known.error is not None:
                raise KafkaException(known.error)
        except KafkaException as error:
            raise ServiceUnavailable(f"topic {self._topic} cannot be read: {error.args[0].str()}") from error
        partitions = list(known.partitions)
        self._consumer.assign([TopicPartition(self._topic, number, OFFSET_BEGINNING) for number in partitions])
        self._thread.start()
        deadline = time.monotonic() + _START_S
        with self._moved:
            while len(self._ended) < len(partitions):
                if not self._moved.wait(max(0.0, deadline - time.monotonic())):
                    raise ServiceUnavailable(
                        f"topic {self._topic} was not read to its end in {_START_S:.0f} s"
                        f"{f': {self._told.str()}' if self._told else ''}. Nothing was changed; look at the broker, "
                        "then start the worker again."
                    )

    def position(self, partition: int) -> int:
        """Offset behind the last record of a partition that was read."""
        with self._moved:
            return self._positions.get(partition, 0)

    def wait(self, partition: int, offset: int, timeout: float) -> bool:
        """Whether all records of a partition before `offset` were read within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._moved:
            while self._positions.get(partition, -1) < offset:
                left = deadline - time.monotonic()
                if left <= 0 or not self._moved.wait(left):
                    return self._positions.get(partition, -1) >= offset
            return True

    def fails(self, keys: Collection[str]) -> bool:
        """Whether the reader has a record of one of the keys that could not be applied yet."""
        return any(key in self._failed for key in keys)

    def problems(self) -> dict[str, str]:
        """Reasons by key for which a record was passed over, or could not be applied yet."""
        waiting = {
            key: f"the record in {place} was not applied, which is tried again every second: {reason}"
            for key, (_, place, reason) in self._failed.copy().items()
        }
        return waiting | self._passed_over

    def close(self) -> None:
        """End the thread; idempotent."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(5)
        if not self._thread.is_alive():
            self._consumer.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                message = self._consumer.poll(_POLL_S)
            except KafkaException as error:
                self._tell(error.args[0])
                continue
            if message is not None:
                self._take(message)
            if self._failed and time.monotonic() >= self._next_try:
                for key, (value, place, _) in list(self._failed.items()):
                    self._give(key, value, place, again=True)

    def _take(self, message: Message) -> None:
        error, partition = message.error(), message.partition()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own name
            self._tell(error)
            return
        offset = message.offset()
        if partition is None or offset is None:
            return
        if error is None:
            self._told = None
            self._read(message, partition, offset)
        with self._moved:
            if error is not None:
                self._ended.add(partition)
            self._positions[partition] = max(self._positions.get(partition, 0), offset + (error is None))
            self._moved.notify_all()

    def _tell(self, error: KafkaError) -> None:
        if self._told is None or self._told.code() != error.code():
            logger.warning("topic %s: %s; reading goes on when it can", self._topic, error.str())
        self._told = error

    def _read(self, message: Message, partition: int, offset: int) -> None:
        key, value = message.key(), message.value()
        place = f"{self._topic}-{partition} at offset {offset}"
        try:
            text = key.decode() if isinstance(key, bytes) else key or ""
        except UnicodeDecodeError:
            logger.warning("the record in %s is passed over: its key is not UTF-8 text", place)
            return
        self._passed_over.pop(text, None)
        self._give(text, value.encode() if isinstance(value, str) else value or None, place)

    def _give(self, key: str, value: bytes | None, place: str, again: bool = False) -> None:
        try:
            self._apply(key, value)
        except Malformed as problem:
            self._passed_over[key] = f"the record in {place} is passed over: {problem}"
            logger.warning("%s", self._passed_over[key])
        except BaseException as error:
            self._failed[key] = value, place, f"{type(error).__name__}: {error}"
            self._next_try = time.monotonic() + _AGAIN_S
            if not again:
                logger.exception("the record in %s was not applied; that is tried again every second", place)
        else:
            if self._failed.pop(key, None) is not None:
                logger.info("the record in %s is applied now", place)
