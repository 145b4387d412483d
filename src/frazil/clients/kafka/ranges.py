"""Records of ranges of offsets, read without a consumer group: nothing is committed."""

import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from frazil.clients.kafka.client import client_config
from frazil.clients.kafka.offsets import end_offsets
from frazil.clients.kafka.security import refusal_in
from frazil.errors import ConfigError, FrazilError, PositionLost, ServiceUnavailable, TerminalError

CHUNK = 4096
"""Records that are handed out at once, at most: as many as stay in cache while they are decoded."""

_HELD_BYTES = 32 << 20
"""Values that are held at once, about: records may be large."""

_LARGE_BYTES = 256 << 10
"""Records of this size are fetched one batch at a time: a fetch may hold a thousand times its size, uncompressed."""
_SAMPLE = 64

_LOOK_S = 0.1
_METADATA_S = 10.0
"""Seconds to learn the leaders of a topic. librdkafka asks by itself a second after it is told to read one."""
_STALLED_S = 30.0
_RENEW_S = 3.0
_LOST = {KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET}  # noqa: SLF001 - librdkafka's own names
_REFUSED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}
_BROKEN = {KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION, KafkaError._NOT_IMPLEMENTED}  # noqa: SLF001

FETCH: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,  # the last entry of a partition may be the mark of a transaction, which is no record
    "auto.offset.reset": "error",
    "check.crcs": True,
    "isolation.level": "read_uncommitted",
    "fetch.wait.max.ms": 10,  # there is no waiting for records: those of a range are there
    "fetch.queue.backoff.ms": 5,
    "queued.max.messages.kbytes": 16 << 10,
    "receive.message.max.bytes": (1 << 31) - 1,
    "socket.receive.buffer.bytes": 1 << 20,
}
"""Settings of fetches: ahead by some MiB, and one as soon as the one before is through. Checks and isolation are
those of Kafka's Java consumer, not of librdkafka. The queue counts what is uncompressed; a fetch is sent while it is
not full, and what comes with it is uncompressed as a whole."""

_ONE_BATCH: Mapping[str, Any] = {"fetch.message.max.bytes": 1}
"""A broker sends one batch at least. Under this name it does not hide a max.partition.fetch.bytes that is wrong."""


@dataclass(frozen=True)
class Range:
    """The offsets from `begin` to below `end` of a partition."""

    topic: str
    partition: int
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def key(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition


class _Refusal:
    """Reason why brokers did not let the consumer in; it holds no consumer, so that nothing holds itself."""

    reason = ""

    def note(self, error: KafkaError) -> None:
        self.reason = refusal_in(error) or self.reason


class RangeReader:
    """Reads ranges with one consumer, one after the other; small ones that follow each other at once."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """`config` is that of a librdkafka consumer, without callbacks. Raises ConfigError when it is none."""
        self._config = dict(config)
        self._servers = str(config["bootstrap.servers"])
        self._group: list[Range] = []
        self._heard = 0.0
        self._size = 0
        self._is_large = True  # until records were seen
        self._open()

    def _open(self) -> None:
        self._refusal = _Refusal()
        self._is_new, self._by_batch = True, self._is_large
        self._known: set[str] = set()
        fetch = _ONE_BATCH if self._by_batch else {}
        try:
            self._consumer = Consumer({**self._config, **fetch, "error_cb": self._refusal.note})
        except KafkaException as error:
            what = error.args[0].str().strip().rstrip(".")
            raise ConfigError(
                f"Kafka's client refuses the configuration: {what}. Nothing more was read. Correct the keys "
                "consumer.override.* of the connector."
            ) from None

    def read(self, ranges: Sequence[Range]) -> Generator[list[Message]]:
        """The records of the ranges in order, those of one partition at a time; no list is empty.

        Raises PositionLost when records of a range are gone, ServiceUnavailable when the broker sends nothing for
        30 s, as for a topic that is gone, ConfigError when it refuses, TerminalError for records that are damaged.
        """
        try:
            for group in _groups(ranges):
                self._begin(group)
                yield from self._whole(group[0]) if len(group) == 1 else self._small(group)
        except KafkaException as failure:
            raise self._failed(failure.args[0], "") from None
        finally:
            self._consumer.unassign()

    def close(self) -> None:
        """Leave the cluster; nothing can be read any more."""
        self._consumer.close()

    def _begin(self, group: list[Range]) -> None:
        self._group, self._heard, self._size = group, time.monotonic(), 0
        if self._by_batch != self._is_large:
            self._reopen()
        self._assign()

    def _reopen(self) -> None:
        self._consumer.close()
        self._open()

    def _assign(self) -> None:
        for topic in {one.topic for one in self._group} - self._known:
            self._consumer.list_topics(topic, timeout=_METADATA_S)
            self._known.add(topic)
        self._consumer.assign([TopicPartition(*one.key, one.begin) for one in self._group])

    def _whole(self, one: Range) -> Iterator[list[Message]]:
        position = one.begin
        while position < one.end:
            found, ends = self._consume(one.end - position)
            if ends:
                position = max(position, *ends.values())
            if found:
                position = max(position, (found[-1].offset() or 0) + 1)
                if position > one.end:
                    found = [message for message in found if (message.offset() or 0) < one.end]
            if found:
                yield found
            self._note(moved=bool(found or ends))
            if self._by_batch != self._is_large and position < one.end:
                self._begin([Range(*one.key, position, one.end)])

    def _small(self, ranges: Sequence[Range]) -> Iterator[list[Message]]:
        """Read ranges at once, since each would wait for a fetch of its own; then one after the other."""
        ends = {one.key: one.end for one in ranges}
        positions = {one.key: one.begin for one in ranges}
        waiting = set(ends)
        kept: defaultdict[tuple[str, int], list[Message]] = defaultdict(list)
        held = 0
        while waiting and held < _HELD_BYTES:
            found, at_end = self._consume(sum(ends[key] - positions[key] for key in waiting))
            for message in found:
                key, offset = (message.topic() or "", message.partition() or 0), message.offset() or 0
                positions[key] = offset + 1
                if offset < ends[key]:
                    kept[key].append(message)
                    held += len(message)
            positions |= {key: max(offset, positions[key]) for key, offset in at_end.items()}
            waiting -= {key for key, position in positions.items() if position >= ends[key]}
            self._note(moved=bool(found or at_end))
        for one in ranges:
            key = one.key
            if kept[key]:
                yield kept.pop(key)
            if key in waiting:
                rest = Range(*key, positions[key], one.end)
                self._begin([rest])
                yield from self._whole(rest)

    def _consume(self, most: int) -> tuple[list[Message], dict[tuple[str, int], int]]:
        """Messages that have come, and the offsets where partitions ended."""
        messages = self._take(most)
        found = [message for message in messages if message.error() is None]
        ends: dict[tuple[str, int], int] = {}
        if len(found) < len(messages):
            for message in messages:
                error = message.error()
                topic = message.topic()
                if error is None or topic is None:
                    continue  # librdkafka asks for the coordinator of a group, without need
                place = (topic, message.partition() or 0)
                if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                    raise self._failed(error, f"topic {place[0]}, partition {place[1]}, offset {message.offset()}: ")
                ends[place] = message.offset() or 0
        return found, ends

    def _take(self, most: int) -> list[Message]:
        """Take messages that are not too large together; the first of a group tells how large they are."""
        first = [] if self._size else self._consumer.consume(1, timeout=_LOOK_S)
        self._measure(first)
        if not self._size:
            return first
        more = max(1, min(CHUNK, most, _HELD_BYTES // self._size)) - len(first)
        if more <= 0:
            return first
        rest = self._consumer.consume(more, timeout=_LOOK_S)
        self._measure(rest)
        return first + rest

    def _measure(self, messages: list[Message]) -> None:
        sizes = [len(one) for one in messages[:: len(messages) // _SAMPLE + 1] if one.error() is None]
        if sizes:
            self._size = max(1, sum(sizes) // len(sizes))
            self._is_large = self._size >= _LARGE_BYTES

    def _note(self, *, moved: bool) -> None:
        """Note whether something has come. Raises ServiceUnavailable when nothing has for too long.

        A consumer that was used before may wait in vain for a topic that was made anew: another one is tried.
        """
        now = time.monotonic()
        if moved:
            self._heard, self._is_new, self._group, self._refusal.reason = now, False, [], ""
        elif now - self._heard > _STALLED_S:
            why = f" ({self._refusal.reason})" if self._refusal.reason else ""
            raise ServiceUnavailable(
                f"Kafka at {self._servers} has sent nothing for {_STALLED_S:.0f} s{why}; nothing of what was being "
                "read is stored"
            )
        elif self._group and not self._is_new and now - self._heard > _RENEW_S:
            self._reopen()
            self._assign()

    def _failed(self, error: KafkaError, where: str) -> FrazilError:
        what = f"{where}{error.str().strip().rstrip('.')}"
        if error.code() in _LOST:
            return records_gone(what)
        if error.code() in _REFUSED:
            return ConfigError(f"Kafka at {self._servers} does not let the connector read: {what}. Nothing was changed")
        if error.code() in _BROKEN:
            return TerminalError(f"records of Kafka are damaged: {what}. What was read before is stored")
        return ServiceUnavailable(
            f"Kafka at {self._servers} does not send records ({what}); nothing of what was being read is stored"
        )


def place_of(message: Message) -> tuple[str, int, int]:
    """Topic, partition and offset of a record."""
    return message.topic() or "", message.partition() or 0, message.offset() or 0


def records_gone(what: str) -> PositionLost:
    """The error for records that cannot be read any more."""
    return PositionLost(
        f"records that were still to be read are gone from Kafka: {what}. What was read before is stored. Give the "
        "connector a new name to start from what the topic has."
    )


def stored_records(bootstrap: str, starts: Mapping[tuple[str, int], int]) -> Iterator[Message]:
    """The records of each partition from an offset up to the end that it has now, those of one partition in order.

    Records of transactions that are open or were aborted are left out. Raises NotFound for a topic that does not
    exist, and as `read_ranges` does.
    """
    end = end_offsets(bootstrap, sorted({topic for topic, _ in starts}), committed=True)
    for records in read_ranges(bootstrap, starts, end, committed=True):
        yield from records


def read_ranges(
    bootstrap: str, begin: Mapping[tuple[str, int], int], end: Mapping[tuple[str, int], int], *, committed: bool = False
) -> Iterator[list[Message]]:
    """The records from `begin` to below `end` of each partition in order, those of one partition at a time.

    With `committed` those of transactions that are open or were aborted are left out. What is gone already is left out
    as well. Raises as `RangeReader.read` does.
    """
    ranges = [Range(*key, start, end[key]) for key, start in sorted(begin.items()) if start < end[key]]
    if not ranges:
        return
    reader = RangeReader(
        {
            **client_config(bootstrap, "consumer"),
            **FETCH,
            "group.id": "frazil-ranges",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
    )
    try:
        yield from reader.read(ranges)
    finally:
        reader.close()


def _groups(ranges: Sequence[Range]) -> Iterator[list[Range]]:
    """Ranges of different partitions that follow each other and are short; a longer one is alone."""
    group: dict[tuple[str, int], Range] = {}
    records = 0
    for one in ranges:
        if group and (one.key in group or records + len(one) > CHUNK):
            yield list(group.values())
            group, records = {}, 0
        group[one.key] = one
        records += len(one)
    if group:
        yield list(group.values())
