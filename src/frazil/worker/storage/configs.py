"""Connector configurations and target states in Kafka's `config.storage.topic`, shared by the workers of a group."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from frazil.engine.runner_api import TargetState
from frazil.errors import FrazilError, Rebalancing, ServiceUnavailable, TerminalError
from frazil.worker.lifecycle.store import OnChange, StoredConnector
from frazil.worker.storage.reader import TopicReader
from frazil.worker.storage.records import (
    ConfigRecord,
    LoggerRecord,
    Record,
    SessionRecord,
    TargetRecord,
    config_record,
    connector_of_key,
    logger_record,
    parse_config,
    session_record,
    target_record,
)
from frazil.worker.storage.session import SessionKeys

_READ_S = 30.0
NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."


class ConfigTopic:
    """A `ConfigStore` in a topic. Every worker reads it; only the leader of the group writes.

    Methods that write raise Rebalancing on a worker that does not lead, or does not any more: nothing is written then.
    They return when this worker has read its own change. ServiceUnavailable is raised when Kafka does not answer.
    """

    def __init__(
        self,
        consumer: Mapping[str, Any],
        producer: Mapping[str, Any],
        topic: str,
        group: str,
        end: Callable[[], int],
        on_logger: Callable[[str, str], object] = lambda logger, level: None,
    ) -> None:
        """`end` tells the offset behind the last record of the topic; `on_logger` gets the levels that are set for all
        workers from now on."""
        self._client = producer
        self._topic = topic
        self._group = group
        self._end = end
        self._on_logger = on_logger
        self._on_change: OnChange = lambda name, connector, configured: None
        self.session = SessionKeys()
        self._configs: dict[str, Mapping[str, str]] = {}
        self._targets: dict[str, TargetState] = {}
        self._reader = TopicReader(consumer, group, topic, self._apply)
        self._writing = threading.Lock()
        self._opened = False
        self._term: int | None = None
        self._terms = 0
        self._writer: tuple[int, TransactionalWriter] | None = None

    def open(self, on_change: OnChange) -> None:
        self._on_change = on_change
        self._reader.start()
        self._opened = True

    def close(self) -> None:
        self.lead(False)
        self._reader.close()

    def lead(self, leads: bool) -> None:
        """Let this worker write from now on, or not any more; returns at once."""
        if leads == (self._term is not None):
            return
        self._terms += leads
        self._term = self._terms if leads else None

    @property
    def position(self) -> int:
        """Offset behind the last record that was read."""
        return self._reader.position(0)

    def read_until(self, position: int, timeout: float) -> bool:
        """Whether all records before that offset were read within `timeout` seconds."""
        return self._reader.wait(0, position, timeout)

    def put(self, name: str, connector: StoredConnector) -> None:
        records = [config_record(name, connector.config)]
        # The state comes first: a connector that is created STOPPED must not be seen without it.
        if self._targets.get(name, "RUNNING") != connector.target_state or name not in self._configs:
            records.insert(0, target_record(name, connector.target_state))
        self._write(records)

    def retarget(self, name: str, target: TargetState) -> None:
        self._write([target_record(name, target)])

    def delete(self, name: str) -> None:
        if name in self._configs:
            self._write([config_record(name, None), target_record(name, None)])

    def problems(self) -> dict[str, str]:
        return {connector_of_key(key): reason for key, reason in self._reader.problems().items()}

    def renew_session(self) -> None:
        """Make a new key for the signatures of requests between workers."""
        self._write([session_record(self.session.new())])

    def set_logger(self, logger: str, level: str) -> None:
        """Set the level of a logger on all workers; any of them may. Raises ServiceUnavailable."""
        key, value = logger_record(logger, level)
        producer = Producer(dict(self._client))
        producer.produce(self._topic, value, key, partition=0)
        if producer.flush(_READ_S):
            raise ServiceUnavailable(
                f"topic {self._topic} could not be written within {_READ_S:.0f} s; look at the levels, then send the "
                "request again"
            )

    def _write(self, records: Sequence[Record]) -> None:
        with self._writing:
            term = self._term
            if term is None:
                self._writer = None
                raise Rebalancing(NO_LEADER)
            if self._writer is None or self._writer[0] != term:
                self._writer = term, TransactionalWriter(self._client, f"connect-cluster-{self._group}", self._topic)
                self._read_until(self._end())
            try:
                offset = self._writer[1].write(records)
            except Exception:
                self._writer = None
                raise
            self._read_until(offset)
            if self._reader.fails([key for key, _ in records]):
                raise ServiceUnavailable(
                    f"the change is stored in topic {self._topic}, and could not be carried out by this worker yet, "
                    "which goes on trying. Its log has the reason; look at the connector in a moment."
                )

    def _read_until(self, offset: int) -> None:
        if not self._reader.wait(0, offset, _READ_S):
            raise ServiceUnavailable(
                f"topic {self._topic} was not read up to offset {offset} within {_READ_S:.0f} s; a change that was "
                "sent is stored. Look at the broker, then at the connector."
            )

    def _apply(self, key: str, value: bytes | None) -> None:
        match parse_config(key, value):
            case ConfigRecord(name, None):
                if name in self._configs:
                    self._on_change(name, None, True)
                self._configs.pop(name, None)
                self._targets.pop(name, None)
            case ConfigRecord(name, config) if config is not None:
                self._configs[name] = config
                self._on_change(name, self._stored(name), True)
            case TargetRecord(name, None):
                self._targets.pop(name, None)
            case TargetRecord(name, target) if target is not None:
                self._targets[name] = target
                if name in self._configs:
                    self._on_change(name, self._stored(name), False)
            case LoggerRecord(logger, level) if level is not None and self._opened:
                self._on_logger(logger, level)
            case SessionRecord() as session:
                self.session.learn(session)

    def _stored(self, name: str) -> StoredConnector:
        return StoredConnector(self._configs[name], self._targets.get(name, "RUNNING"))


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
