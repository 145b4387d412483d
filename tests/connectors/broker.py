"""A Kafka cluster in memory: topics, records, groups and dead letters, for sinks whose tests need no service."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import producer
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.headers import headers_of
from frazil.clients.kafka.offsets import TopicEnds
from frazil.clients.kafka.ranges import Range
from frazil.connectors.iceberg.position import takeover
from frazil.errors import FrazilError, NotFound, TerminalError
from frazil.pipeline.letters import deadletter, log
from frazil.pipeline.letters.deadletter import OWN_PREFIX, PREFIX, TABLE, DeadLetterQueue, Refusal
from frazil.pipeline.letters.letter import CLOSED
from frazil.pipeline.letters.ranges import Ranges
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.offsets import TopicPartition as Key
from frazil.pipeline.rows import Rows, rows_of
from frazil.pipeline.source import Source

BOOTSTRAP = "memory:9092"
_CHUNK = 7


class Killed(BaseException):
    """The worker ends here: nothing of it goes on, and nothing handles it."""


@dataclass
class _Partition:
    begin: int = 0
    end: int = 0
    records: list[Message] = field(default_factory=list)


@dataclass
class _Topic:
    id: str
    partitions: list[_Partition]


class Broker:
    """`faults` of a call, by its name in `admin`, are raised by its next calls, one each; None lets one pass.

    Faults of `produce` are: "refused", "lost" (written, and not acknowledged) and "killed" (written, then Killed).
    """

    def __init__(self) -> None:
        self.cluster = "cluster-1"
        self.groups: dict[str, dict[Key, tuple[int, str]]] = {}
        self.members: dict[str, int] = {}
        self.faults: dict[str, list[BaseException | None]] = {}
        self.produce_faults: list[str] = []
        self._topics: dict[str, _Topic] = {}

    def install(self, patched: pytest.MonkeyPatch) -> Broker:
        """Take the place of the cluster for the clients of sinks."""
        for module, call in (
            (kafka_client, self.cluster_id),
            (kafka_topics, self.topics),
            (kafka_topics, self.topic_ids),
            (kafka_offsets, self.begin_offsets),
            (kafka_offsets, self.end_offsets),
            (kafka_offsets, self.offsets_since),
            (kafka_offsets, self.look_at_ends),
            (kafka_groups, self.group_offsets),
            (kafka_groups, self.group_metadata),
            (kafka_groups, self.all_group_offsets),
            (kafka_groups, self.group_members),
            (kafka_groups, self.set_group_offsets),
            (kafka_groups, self.forget_group_offsets),
            (kafka_topics, self.ensure_topics),
        ):
            patched.setattr(module, call.__name__, self._faulty(call))
        patched.setattr(takeover, "stored_records", lambda bootstrap, starts: self.stored_records(starts))
        for module, name in ((deadletter, "Producer"), (producer, "Producer")):
            patched.setattr(module, name, lambda config: _Producer(self, config))
        for reader in (deadletter, log):
            patched.setattr(reader, "read_ranges", self._faulty(self.read_ranges))
        return self

    def _faulty(self, call: Any) -> Any:
        def answer(bootstrap: str, *args: Any, **named: Any) -> Any:
            faults = self.faults.get(call.__name__, [])
            fault = faults.pop(0) if faults else None
            if fault is not None:
                raise fault
            return call(*args, **named)

        return answer

    # What a test does with the cluster.

    def make(self, topic: str, partitions: int = 1) -> None:
        """A new topic, or one that is made again."""
        self._topics[topic] = _Topic(uuid.uuid4().hex, [_Partition() for _ in range(partitions)])

    def delete(self, topic: str) -> None:
        """As a broker does, also what groups have committed of it."""
        del self._topics[topic]
        for group in self.groups.values():
            for key in [key for key in group if key[0] == topic]:
                del group[key]

    def send(
        self,
        topic: str,
        values: Iterable[bytes | None],
        partition: int = 0,
        *,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        stamp: int | None = None,
    ) -> None:
        """Append records; with `stamp` their time in epoch ms, else it is now."""
        found = self._topics[topic].partitions[partition]
        when = round(time.time() * 1000) if stamp is None else stamp
        make: Any = Message
        for value in values:
            found.records.append(
                make(
                    topic=topic,
                    partition=partition,
                    offset=found.end,
                    value=value,
                    key=key,
                    headers=list(headers),
                    timestamp=(1, when),
                )
            )
            found.end += 1

    def leave_out(self, topic: str, offsets: int = 1, partition: int = 0) -> None:
        """Offsets without a record, as the mark of a transaction."""
        self._topics[topic].partitions[partition].end += offsets

    def retain(self, topic: str, begin: int, partition: int = 0) -> None:
        """Forget the records below an offset."""
        found = self._topics[topic].partitions[partition]
        found.begin = begin
        found.records = [one for one in found.records if (one.offset() or 0) >= begin]

    def records(self, topic: str, partition: int = 0, begin: int = 0, end: int | None = None) -> list[Message]:
        """The records of a partition between two offsets."""
        records = self._topics[topic].partitions[partition].records
        return [one for one in records if begin <= (one.offset() or 0) and (end is None or (one.offset() or 0) < end)]

    def ends(self, *topics: str) -> Offsets:
        """The ends of topics, for `SinkTask.due`."""
        return self.end_offsets(topics)

    def letters(self, topic: str) -> dict[Refusal, list[int]]:
        """Where the dead letters of each refusal are in a dead-letter topic, of the open ones."""
        found: dict[Refusal, list[int]] = {}
        closed = Ranges()
        for message in self.records(topic) if topic in self._topics else ():
            headers: Mapping[str, Any] = dict(headers_of(message))
            if CLOSED in headers:
                closed = closed | Ranges.parse(headers[CLOSED].decode())
                continue
            prefix = PREFIX if PREFIX + "topic" in headers else OWN_PREFIX
            topic_, partition, offset = (headers[prefix + name].decode() for name in ("topic", "partition", "offset"))
            table = (headers.get(TABLE) or b"").decode()
            found.setdefault((topic_, int(partition), int(offset), table), []).append(message.offset() or 0)
        still = {refusal: [offset for offset in places if offset not in closed] for refusal, places in found.items()}
        return {refusal: places for refusal, places in still.items() if places}

    def queue(self, connector: str, *topics: str) -> DeadLetterQueue:
        """A connector's dead-letter queue, with the dead-letter topics of these topics."""
        queue = DeadLetterQueue(BOOTSTRAP, connector, "S", None, True)
        for topic in topics:
            if queue.topic_for(topic) not in self._topics:
                self.make(queue.topic_for(topic))
        return queue

    def source(self) -> Source:
        """What the tasks of a connector read."""
        return _BrokerSource({}, True, self)

    # The calls of `frazil.clients.kafka`.

    def cluster_id(self, timeout: float = 0) -> str:
        return self.cluster

    def topics(self) -> list[str]:
        return sorted(self._topics)

    def topic_ids(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self._topic(name).id for name in names}

    def begin_offsets(self, topics: Iterable[str]) -> Offsets:
        return self._each(topics, "begin")

    def end_offsets(self, topics: Iterable[str], *, committed: bool = False) -> Offsets:
        return self._each(topics, "end")

    def offsets_since(self, topics: Iterable[str], since_ms: int) -> Offsets:
        newer = {
            key: [one.offset() or 0 for one in self.records(*key) if one.timestamp()[1] >= since_ms]
            for key in self.end_offsets(topics)
        }
        return {key: offsets[0] for key, offsets in newer.items() if offsets}

    def read_ranges(
        self, begin: Mapping[Key, int], end: Mapping[Key, int], *, committed: bool = False
    ) -> Iterator[list[Message]]:
        for key, start in sorted(begin.items()):
            if found := self.records(*key, start, end[key]):
                yield found

    def look_at_ends(self, topics: Collection[str], *, committed: bool = False) -> TopicEnds:
        ends: Offsets = {}
        errors: dict[str, FrazilError] = {}
        for topic in topics:
            try:
                ends |= self.end_offsets([topic])
            except NotFound as error:
                errors[topic] = error
        return TopicEnds(ends, errors)

    def group_offsets(self, group: str, partitions: Iterable[Key]) -> Offsets:
        found = self.groups.get(group, {})
        return {key: found[key][0] for key in partitions if key in found}

    def group_metadata(self, group: str, partitions: Iterable[Key]) -> dict[Key, str]:
        found = self.groups.get(group, {})
        return {key: found[key][1] for key in partitions if key in found and found[key][1]}

    def all_group_offsets(self, group: str) -> Offsets:
        return {key: offset for key, (offset, _) in self.groups.get(group, {}).items()}

    def group_members(self, group: str) -> list[str]:
        return ["member"] * self.members.get(group, 0)

    def set_group_offsets(
        self, group: str, offsets: Mapping[Key, int], metadata: Mapping[Key, str] | None = None
    ) -> None:
        if offsets:
            texts = metadata or {}
            new = {key: (offset, texts.get(key, "")) for key, offset in offsets.items()}
            self.groups[group] = self.groups.get(group, {}) | new

    def forget_group_offsets(self, group: str, partitions: Collection[Key] | None = None) -> None:
        known = self.groups.get(group, {})
        self.groups[group] = {
            key: found for key, found in known.items() if partitions is not None and key not in partitions
        }

    def ensure_topics(
        self, topics: Mapping[str, tuple[int, Mapping[str, str]]], *, replication: int | None = None
    ) -> dict[str, bool]:
        new = {name: name not in self._topics for name in topics}
        if (replication or 1) > 1 and any(new.values()):
            raise TerminalError(f"Kafka at {BOOTSTRAP} refuses topic {min(new)}: INVALID_REPLICATION_FACTOR: 1 broker.")
        for name, is_new in new.items():
            if is_new:
                self.make(name, topics[name][0])
        return new

    def stored_records(self, starts: Mapping[Key, int]) -> Iterator[Message]:
        for key, begin in starts.items():
            yield from self.records(*key, begin)

    def _each(self, topics: Iterable[str], what: str) -> Offsets:
        return {
            (topic, number): getattr(partition, what)
            for topic in topics
            for number, partition in enumerate(self._topic(topic).partitions)
        }

    def _topic(self, name: str) -> _Topic:
        if name not in self._topics:
            raise NotFound(f"topic {name} does not exist at {BOOTSTRAP}")
        return self._topics[name]


@dataclass(frozen=True)
class _BrokerSource(Source):
    broker: Broker

    def read(self, ranges: Sequence[Range]) -> Generator[Rows]:
        for one in ranges:
            found = self.broker.records(one.topic, one.partition, one.begin, one.end)
            for begin in range(0, len(found), _CHUNK):
                yield rows_of(found[begin : begin + _CHUNK])


class _Producer:
    """As much of librdkafka's producer as dead letters and their markers need."""

    def __init__(self, broker: Broker, config: Mapping[str, Any]) -> None:
        self._broker = broker
        self._delivered = config.get("on_delivery")

    def produce(self, topic: str, value: bytes | None = None, key: bytes | None = None, **more: Any) -> None:
        delivered = more.get("on_delivery", self._delivered)
        fault = self._broker.produce_faults.pop(0) if self._broker.produce_faults else "none"
        partition = max(more.get("partition", 0), 0)
        if fault != "refused":
            self._broker.send(topic, [value], partition, key=key, headers=more["headers"])
        if fault == "killed":
            raise Killed
        if delivered is not None and fault != "none":
            delivered(KafkaError(KafkaError.REQUEST_TIMED_OUT), None)
        elif delivered is not None:
            delivered(None, self._broker.records(topic, partition)[-1])

    def poll(self, timeout: float) -> int:
        time.sleep(min(timeout, 0.001))
        return 0

    def flush(self, timeout: float) -> int:
        return 0

    def purge(self) -> None:
        """Nothing is left to be sent."""

    def __len__(self) -> int:
        return 0
