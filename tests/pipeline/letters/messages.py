"""Messages as a consumer gives them."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Message

from frazil.pipeline.letters.deadletter import PREFIX
from frazil.pipeline.letters.letter import CLOSED, STATE

Headers = list[tuple[str, bytes | None]]


def message(
    offset: int = 0,
    *,
    topic: str = "t-dlq",
    partition: int = 0,
    value: bytes | None = b"{}",
    key: bytes | None = None,
    headers: Headers | None = None,
    timestamp: int = 1_700_000_000_000,
) -> Message:
    """A message of a dead-letter topic."""
    make: Any = Message
    made: Message = make(
        topic=topic,
        partition=partition,
        offset=offset,
        value=value,
        key=key,
        headers=headers,
        timestamp=(1, timestamp),
    )
    return made


def context(
    connector: str = "c", record: tuple[str, int, int] = ("t", 0, 5), message: str = "", **more: str
) -> Headers:
    """Headers of a dead letter in Connect's order; `more` with `_` for dots."""
    values = {
        "topic": record[0],
        "partition": str(record[1]),
        "offset": str(record[2]),
        "connector.name": connector,
        "exception.message": message,
        **{name.replace("_", "."): text for name, text in more.items()},
    }
    return [(PREFIX + name, text.encode()) for name, text in values.items()]


def marker(offset: int, closed: str, state: bytes = b"replayed", **more: Any) -> Message:
    """A marker at an offset."""
    return message(offset, value=None, headers=[(STATE, state), (CLOSED, closed.encode())], **more)
