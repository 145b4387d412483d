"""Where the other workers of a group are, as its coordinator knows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import TimeoutError as Late
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription  # type: ignore[attr-defined]

_KNOWN_S = 1.0
_ANSWER_S = 5.0


class Members:
    """The address of the worker that has a partition of the group's topic; an answer is kept for a second.

    Ask only as a member: then the group has a coordinator.
    """

    def __init__(self, client: Mapping[str, Any], group: str) -> None:
        self._client = AdminClient(dict(client))
        self._group = group
        self._lock = threading.Lock()
        self._urls: dict[int, str] = {}
        self._until = 0.0

    def url_of(self, slot: int) -> str | None:
        """URL of the worker; None while the group is being rearranged, or when the coordinator does not answer."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._urls = self._ask()
                self._until = time.monotonic() + _KNOWN_S
            return self._urls.get(slot)

    def forget(self) -> None:
        """Ask again next time."""
        with self._lock:
            self._until = 0.0

    def _ask(self) -> dict[int, str]:
        futures = self._client.describe_consumer_groups([self._group], request_timeout=_ANSWER_S)
        try:
            group: ConsumerGroupDescription = futures[self._group].result(_ANSWER_S + 1)
        except (KafkaException, Late):
            return {}
        if group.state != ConsumerGroupState.STABLE:
            return {}
        return {
            partition.partition: member.client_id
            for member in group.members
            if member.assignment is not None
            for partition in member.assignment.topic_partitions
        }
