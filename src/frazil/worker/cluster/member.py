"""Membership in a group of workers: Kafka's group coordinator says which connectors run here.

The members subscribe to one topic. A connector belongs to one of its partitions by its name, and runs on the worker
that this partition is assigned to. Nothing is read from the topic.
"""

import logging
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from frazil.errors import ConfigError, ServiceUnavailable
from frazil.text.events import event

logger = logging.getLogger(__name__)

_POLL_S = 0.2
_TICK_S = 1.0
_TAKE_OVER = "taking over its connectors"


def slot_of(name: str, slots: int) -> int:
    """The partition that a connector belongs to; `slots` is the number of partitions."""
    return zlib.crc32(name.encode()) % slots


def leader_slot(slots: int) -> int:
    """The partition whose worker leads; `slots` is the number of partitions.

    The last one: librdkafka gives a worker that joins the first partitions of the others, so it stays where it is.
    """
    return slots - 1


@dataclass(frozen=True)
class Timing:
    """Timeouts of the membership in milliseconds: until a silent worker counts as lost, between two signs of life, and
    for giving up connectors."""

    session_ms: int = 10_000
    heartbeat_ms: int = 3_000
    rebalance_ms: int = 60_000


class GroupMember:
    """Membership of one worker in its group. Its thread polls the coordinator; only `on_slots` may keep it waiting."""

    def __init__(
        self,
        client: Mapping[str, Any],
        group: str,
        topic: str,
        url: str,
        on_slots: Callable[[frozenset[int]], None],
        on_tick: Callable[[], None],
        timing: Timing,
    ) -> None:
        """`on_slots` gets the partitions of this worker whenever they change, and returns when those connectors that
        are not of this worker any more have stopped; when it raises, it is called again every second. `on_tick` is
        called every second. `url` names the worker in the tools for consumer groups.
        """
        self._group = group
        self._topic = topic
        self._on_slots = on_slots
        self._on_tick = on_tick
        self._slots: frozenset[int] = frozenset()
        self._failing: set[str] = set()
        self._joined = threading.Event()
        self._refused: KafkaError | None = None
        self._closing = threading.Event()
        self._consumer = Consumer(
            {
                **client,
                "client.id": url,
                "group.id": group,
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": timing.session_ms,
                "heartbeat.interval.ms": timing.heartbeat_ms,
                "max.poll.interval.ms": max(timing.rebalance_ms, timing.session_ms),
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
            }
        )
        self._thread = threading.Thread(target=self._run, name="group-member", daemon=True)

    @property
    def slots(self) -> frozenset[int]:
        """The partitions of this worker now."""
        return self._slots

    def join(self, timeout: float) -> None:
        """Return when the worker is a member and has its partitions.

        Raises ConfigError when the group has members of another kind, ServiceUnavailable after `timeout` seconds.
        """
        self._consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
        self._thread.start()
        deadline = time.monotonic() + timeout
        while not self._joined.wait(0.05):
            if self._refused is not None and self._refused.code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL:
                raise ConfigError(
                    f"group {self._group} has members that are no frazil workers, such as workers of Kafka Connect. "
                    "Nothing was changed and the worker does not start. Stop them first (the connectors stay in the "
                    "storage topics), or set another group.id."
                )
            if time.monotonic() > deadline:
                why = f": {self._refused.str()}" if self._refused else ""
                raise ServiceUnavailable(
                    f"the worker could not become a member of group {self._group} within {timeout:.0f} s{why}. It does "
                    "not start. Look at the broker and at the permissions for the group, then start it again."
                )

    def close(self) -> None:
        """Leave the group at once; its other members take over. Idempotent."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def _run(self) -> None:
        next_tick = time.monotonic()
        try:
            while not self._closing.is_set():
                try:
                    message = self._consumer.poll(_POLL_S)
                except KafkaException as error:
                    self._failed(error.args[0])
                    continue
                if message is not None and (told := message.error()) is not None:
                    self._failed(told)
                if self._joined.is_set() and time.monotonic() >= next_tick:
                    next_tick = time.monotonic() + _TICK_S
                    if _TAKE_OVER in self._failing:
                        self._take_over()
                    self._guarded("telling what it has", self._on_tick)
        finally:
            self._consumer.close()
            self._set(frozenset())

    def _failed(self, error: KafkaError) -> None:
        if self._refused is None or self._refused.code() != error.code():
            logger.warning("group %s: %s", self._group, error.str())
        self._refused = error

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.incremental_assign(partitions)
        try:
            consumer.pause(partitions)
        except KafkaException as error:
            logger.debug("group %s: its topic is read: %s", self._group, error)
        self._refused = None
        self._set(self._slots | {partition.partition for partition in partitions})
        self._joined.set()

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._set(self._slots - {partition.partition for partition in partitions})
        consumer.incremental_unassign(partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        logger.warning(
            "group %s: this worker was silent for too long and is no member any more; its connectors stop here, and "
            "it joins again",
            self._group,
        )
        self._set(self._slots - {partition.partition for partition in partitions})
        consumer.incremental_unassign(partitions)

    def _set(self, slots: frozenset[int]) -> None:
        if slots != self._slots:
            logger.info(
                "group %s: %d of its partitions are of this worker", self._group, len(slots), extra=event("rebalanced")
            )
        self._slots = slots
        self._take_over()

    def _take_over(self) -> None:
        self._guarded(_TAKE_OVER, lambda: self._on_slots(self._slots))

    def _guarded(self, what: str, call: Callable[[], None]) -> None:
        """A fault of ours must not end the thread: the worker would stay a member that does nothing."""
        try:
            call()
        except BaseException:
            if what not in self._failing:
                logger.exception("group %s: %s failed; it is tried again every second", self._group, what)
            self._failing.add(what)
        else:
            self._failing.discard(what)
