"""Where the other workers of a group are, as its coordinator knows them."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

_KNOWN_S = 1.0
_ANSWER_S = 5.0
_STABLE = "Stable"


class Members:
    """The address of the worker that has a partition of the group's topic; an answer is kept for a second."""

    def __init__(self, client: Mapping[str, str | int | float | bool], group: str) -> None:
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
        try:
            groups = self._client.list_groups(group=self._group, timeout=_ANSWER_S)
        except KafkaException:
            return {}
        # The published types of these fields are wrong.
        members: list[Any] = [member for group in groups if group.state == _STABLE for member in group.members]
        return {slot: str(member.client_id) for member in members for slot in slots_of(member.assignment)}


def slots_of(assignment: bytes) -> list[int]:
    """Partitions in the assignment of a member, in the coding of Kafka's consumer protocol; [] when there is none."""
    if len(assignment) < 6:
        return []
    found: list[int] = []
    _, topics = struct.unpack_from(">hi", assignment)
    at = 6
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", assignment, at)
        at += 2 + length
        (count,) = struct.unpack_from(">i", assignment, at)
        at += 4
        found += struct.unpack_from(f">{count}i", assignment, at)
        at += 4 * count
    return found
