"""Produces records to Kafka, and counts a record only when the broker has acknowledged it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message

from frazil.clients.kafka.client import require_listener
from frazil.clients.kafka.headers import Headers
from frazil.clients.kafka.producer import PolledProducer
from frazil.clients.kafka.security import refusal, watched
from frazil.errors import FrazilError, NotFound, ServiceUnavailable, TerminalError

_METADATA_TIMEOUT_S = 10.0
_DELIVERY_TIMEOUT_MS = 30_000
_REPORT_EVERY = 2_000
# Names as librdkafka gives them; a leading underscore marks an error of the client itself.
_NO_TOPIC = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"})
_UNAVAILABLE = frozenset({"_MSG_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT"})


class Outgoing(NamedTuple):
    """A record to be sent. Partition -1 leaves the choice to the partitioner; a time is epoch milliseconds."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int = -1
    timestamp: int | None = None


class RecordProducer:
    """An idempotent producer (acks=all) with a bounded queue of at most 64 MiB.

    Use it as a context manager; leaving it drops what was not sent, after `send` has reported it.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._acknowledged = 0
        self._error: KafkaError | None = None
        self._producer = PolledProducer(
            {
                **watched(bootstrap, "producer"),
                "enable.idempotence": True,
                "acks": "all",
                "compression.type": "lz4",
                "linger.ms": 20,
                "batch.size": 1_048_576,
                "message.max.bytes": 16_777_216,
                "queue.buffering.max.kbytes": 65_536,
                "queue.buffering.max.messages": 100_000,
                "delivery.timeout.ms": _DELIVERY_TIMEOUT_MS,
                "enable.metrics.push": False,
                "log_level": 0,  # what goes wrong is raised
                "on_delivery": self._delivered,
            }
        )

    def __enter__(self) -> RecordProducer:
        self._producer.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._producer.__exit__(*raised)

    @property
    def acknowledged(self) -> int:
        """Number of records of the latest `send` that the broker has acknowledged."""
        return self._acknowledged

    def send(
        self,
        topic: str,
        records: Iterable[bytes | Outgoing],
        total: int | None,
        on_progress: Callable[[int], None] | None = None,
    ) -> int:
        """Produce all records and wait until the broker has them; returns how many it has acknowledged.

        Bytes are the value of a record without a key.
        `total` is the number of records where it is known, for messages; `on_progress` gets the number acknowledged so
        far.

        Raises NotFound for a topic that does not exist, ServiceUnavailable when the broker does not answer (within
        30 s), TerminalError when it refuses a record; the message says how many records were acknowledged.
        """
        self._acknowledged, self._error = 0, None
        self._check_topic(topic)
        for produced, record in enumerate(records, start=1):
            self._produce(topic, record)
            if produced % _REPORT_EVERY == 0:
                self._raise_on_error(topic, total)
                if on_progress:
                    on_progress(self._acknowledged)
        while self._producer.wait(0.2) and not self._error:
            if on_progress:
                on_progress(self._acknowledged)
        self._raise_on_error(topic, total)
        if on_progress:
            on_progress(self._acknowledged)
        return self._acknowledged

    def _produce(self, topic: str, record: bytes | Outgoing) -> None:
        value, key, headers, partition, timestamp = Outgoing(record) if isinstance(record, bytes) else record
        while True:
            try:
                self._producer.produce(topic, value, key=key, partition=partition, headers=headers, timestamp=timestamp)
            except BufferError:  # the queue is full: wait for deliveries, which the delivery timeout bounds
                self._producer.wait(0.01)
                if self._error:
                    return
            except KafkaException as error:
                self._error = error.args[0]
                return
            else:
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._acknowledged += 1
        elif self._error is None:
            self._error = error

    def _check_topic(self, topic: str) -> None:
        require_listener(self._bootstrap)
        try:
            found = self._producer.topic(topic, _METADATA_TIMEOUT_S)
        except KafkaException as error:
            reason = refusal(self._bootstrap)
            if reason:
                raise ServiceUnavailable(
                    f"Kafka at {self._bootstrap} does not let this client in: {reason}; nothing was produced. Correct "
                    "KAFKA_SECURITY_PROTOCOL and its neighbours"
                ) from None
            raise ServiceUnavailable(
                f"Kafka at {self._bootstrap} does not answer ({error.args[0].str()}); nothing was produced. "
                "Start it with `start`, or correct KAFKA_BOOTSTRAP_SERVERS"
            ) from error
        if found.error is not None:
            raise self._failure(topic, found.error, "nothing was produced")

    def _raise_on_error(self, topic: str, total: int | None) -> None:
        if self._error is not None:
            known = "" if total is None else f" of {total}"
            state = f"{self._acknowledged}{known} records were acknowledged and are in the topic"
            raise self._failure(topic, self._error, state)

    def _failure(self, topic: str, error: KafkaError, state: str) -> FrazilError:
        if error.name() in _NO_TOPIC:
            return NotFound(
                f"topic `{topic}` does not exist at {self._bootstrap}; {state}. Create it: `topics create {topic}`; "
                "`init` creates those of the log records"
            )
        if error.name() in _UNAVAILABLE or error.retriable():
            return ServiceUnavailable(
                f"Kafka at {self._bootstrap} stopped answering for topic `{topic}` ({error.str()}); {state}. "
                "See `status` and `logs kafka`"
            )
        return TerminalError(f"Kafka at {self._bootstrap} refused topic `{topic}`: {error.str()}; {state}")
