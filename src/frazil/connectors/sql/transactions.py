"""Transactions of a connector: records of a topic and the position behind what they are made of, or neither."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as KafkaPosition

from frazil.clients.kafka.security import secured
from frazil.errors import Fenced, FrazilError, ServiceUnavailable, TerminalError

_TIMEOUT_S = 30.0
_STALLED_S = 120.0
_LARGEST = 64 << 20
_BATCH, _HEADER = 1_000_000, 512
_POLLED = 1000
_TOO_LARGE = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE)
_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)  # noqa: SLF001 - its name


@dataclass(frozen=True)
class Produced:
    """A record to produce; `stamp` is its time in epoch milliseconds, -1 for now."""

    key: bytes | None
    value: bytes
    stamp: int


class Transactions:
    """Producer of one connector; whoever makes another one with its name takes over, and fences this one."""

    def __init__(self, bootstrap: str, connector: str, group: str, topic: str, largest: int) -> None:
        """End what a former one has begun. `largest` is how many bytes the topic takes at once.

        Raises ServiceUnavailable or TerminalError.
        """
        self._connector, self._topic = connector, topic
        self._producer = Producer(
            {
                **secured(bootstrap, "producer"),
                "transactional.id": f"frazil-{group}",
                "compression.type": "lz4",
                "message.max.bytes": _LARGEST,
                "batch.size": max(
                    1, min(largest - _HEADER, _BATCH)
                ),  # else many small rows would be one that is too large
                "log_level": 0,
            }
        )
        consumer = Consumer({**secured(bootstrap, "consumer"), "group.id": group, "log_level": 0})
        self._group = consumer.consumer_group_metadata()
        consumer.close()
        self._asked(lambda: self._producer.init_transactions(_TIMEOUT_S), "began no transaction")

    def commit(self, records: Sequence[Produced], position: Sequence[KafkaPosition]) -> list[int]:
        """Commit records with a position; returns the numbers of records that are too large, and commits nothing then.

        Raises Fenced, ServiceUnavailable or TerminalError; nothing is committed, or all is, which the position of the
        group tells.
        """
        producer = self._producer
        self._asked(producer.begin_transaction, "began no transaction")
        try:
            failed = self._produce(records)
            if not failed:
                self._asked(
                    lambda: producer.send_offsets_to_transaction(list(position), self._group, _TIMEOUT_S),
                    "did not take the position",
                )
                self._asked(lambda: producer.commit_transaction(_TIMEOUT_S), "did not commit")
                return []
        except FrazilError:
            producer.purge()
            raise
        self._asked(lambda: producer.abort_transaction(_TIMEOUT_S), "did not end a transaction")
        large = [number for number, error in failed.items() if error.code() in _TOO_LARGE]
        if not large:
            error = next(iter(failed.values()))
            raise self._problem(error, "did not take a row")
        return large

    def _produce(self, records: Sequence[Produced]) -> dict[int, KafkaError]:
        """Send the records; those that failed by their numbers. Raises ServiceUnavailable when the broker is stuck."""
        failed: dict[int, KafkaError] = {}

        def delivered(number: int) -> Callable[[KafkaError | None, Message], None]:
            return lambda error, _: None if error is None else failed.update({number: error})

        for number, record in enumerate(records):
            when: dict[str, Any] = {} if record.stamp < 0 else {"timestamp": record.stamp}
            while True:
                try:
                    self._producer.produce(self._topic, record.value, record.key, on_delivery=delivered(number), **when)
                    break
                except BufferError:
                    self._serve(lambda: self._producer.poll(0.1))
                except KafkaException as error:
                    failed[number] = error.args[0]
                    break
            if number % _POLLED == 0:
                self._serve(lambda: self._producer.poll(0))
        if self._serve(lambda: self._producer.flush(_STALLED_S)):
            raise ServiceUnavailable(self._said("did not take the rows", "timeout"))
        return failed

    def _serve(self, call: Callable[[], int]) -> int:
        """Let the client call back. A fatal error comes as it is, or as what a callback fails with because of it."""
        try:
            return call()
        except (KafkaException, SystemError) as error:
            cause = error.__cause__ if isinstance(error, SystemError) else error
            if not isinstance(cause, KafkaException):
                raise
            raise self._problem(cause.args[0], "did not take a row") from error

    def _asked(self, call: Callable[[], object], what: str) -> None:
        """Make a call of a transaction, again while that can help."""
        deadline = time.monotonic() + _STALLED_S
        while True:
            try:
                call()
                return
            except KafkaException as error:
                failure = error.args[0]
                if not failure.retriable() or time.monotonic() > deadline:
                    raise self._problem(failure, what) from error

    def _problem(self, error: KafkaError, what: str) -> FrazilError:
        if error.code() in _FENCED:
            return Fenced(
                f"another worker runs connector {self._connector} and has taken over its transactions ({error.str()})"
            )
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            create = f"Create it: `topics create {self._topic}`, and restart the connector"
            return TerminalError(f"{self._said(what, error.str())}. {create}")
        kind = ServiceUnavailable if error.retriable() or error.txn_requires_abort() else TerminalError
        return kind(self._said(what, error.str()))

    def _said(self, what: str, why: str) -> str:
        return (
            f"Kafka {what} of connector {self._connector} for topic {self._topic} ({why}). Rows and position are "
            "committed together or not at all; the connector goes on where its consumer group is"
        )
