"""Writes the configuration topic: one worker at a time, whole changes only."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from frazil.errors import FrazilError, Rebalancing, ServiceUnavailable, TerminalError
from frazil.worker.storage.records import Record

logger = logging.getLogger(__name__)

_ANSWER_S = 30.0
_FENCED = (KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED, KafkaError._FENCED)  # noqa: SLF001


class TransactionalWriter:
    """Appends records to a topic in transactions of one id: whoever begins last is the only one who can write.

    A worker that was replaced without knowing it therefore cannot change anything any more.
    """

    def __init__(self, client: Mapping[str, Any], transactional_id: str, topic: str) -> None:
        """Take over from the writer before and undo its open transaction; raises ServiceUnavailable, TerminalError."""
        self._topic = topic
        self._id = transactional_id
        self._producer = Producer({**client, "transactional.id": transactional_id, "transaction.timeout.ms": 30_000})
        try:
            self._producer.init_transactions(_ANSWER_S)
        except KafkaException as error:
            raise self._translated(error.args[0]) from error

    def write(self, records: Sequence[Record]) -> int:
        """Append all of the records or none; the offset behind the last one.

        Raises Rebalancing when another writer has taken over, ServiceUnavailable when the cluster does not answer:
        whether the records were written is then shown by the topic.
        """
        delivered: list[int] = []
        failures: list[KafkaError] = []

        def report(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(error)
            elif (offset := message.offset()) is not None:
                delivered.append(offset)

        try:
            self._producer.begin_transaction()
            for key, value in records:
                self._producer.produce(self._topic, value, key, partition=0, on_delivery=report)
            self._producer.flush(_ANSWER_S)
            if failures:
                raise KafkaException(failures[0])
            self._producer.commit_transaction(_ANSWER_S)
        except KafkaException as error:
            self._undo()
            raise self._translated(error.args[0]) from error
        return max(delivered) + 1

    def _undo(self) -> None:
        try:
            self._producer.abort_transaction(_ANSWER_S)
        except KafkaException as error:
            logger.warning(
                "a change of topic %s could not be undone and ends by itself: %s", self._topic, error.args[0].str()
            )

    def _translated(self, error: KafkaError) -> FrazilError:
        if error.code() in _FENCED:
            return Rebalancing(
                "Cannot complete request because of a conflicting operation (e.g. worker rebalance). "
                "Nothing was changed; send the request again."
            )
        text = f"topic {self._topic} cannot be written (transactional.id {self._id}): {error.str()}."
        if error.retriable() or error.code() in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT):  # noqa: SLF001
            return ServiceUnavailable(f"{text} Look whether the change is there, else send the request again.")
        return TerminalError(f"{text} Nothing was changed. Remove the cause, then send the request again.")
