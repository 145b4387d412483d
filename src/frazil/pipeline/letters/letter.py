"""A dead letter as it lies in its topic: the record that it was, why it could not be stored, and what closes it."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from confluent_kafka import Message

from frazil.clients.kafka.headers import headers_of
from frazil.pipeline.letters.deadletter import OWN_PREFIX, PREFIX, RECORD_TIME, SEAL, TABLE, Coordinates, bytes_of
from frazil.pipeline.letters.ranges import Ranges

State = Literal["replayed", "dropped"]

STATE, CLOSED, CLOSED_AT = "frazil.deadletter.state", "frazil.deadletter.offset", "frazil.deadletter.time"
"""Headers of a marker: what became of the dead letters, their offsets (`5,7-9`), and when (ISO 8601, UTC)."""
FLOOR = "frazil.deadletter.floor"
"""Header of a marker: the offset below which no dead letter of its partition is open."""

BETWEEN = ".backfill-"
"""Stands between the name of a connector and what tells a backfill from others, in the name of its position."""

_BACKFILL = re.compile(re.escape(BETWEEN) + "[0-9a-f]{12}$")
_PREFIXES = (PREFIX, OWN_PREFIX)
_FIRST_CONTEXT = tuple(prefix + "topic" for prefix in _PREFIXES)
_LONGEST_OFFSET = 20
_COMPARED = 1000
"""Characters of a reason by which dead letters are told apart: anybody may have written it."""
_REFUSED = re.compile(
    r"""(?<=not valid by the schema: )(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|\{.*\}|\[.*\])(?= )|^'.*'(?= is not )"""
)
"""The value that a JSON Schema, or the name of a table, refuses."""

Header = tuple[str, bytes | None]


@dataclass(frozen=True)
class Letter:
    """A dead letter with its place in the dead-letter topic.

    `headers` are those of the original record. `context` has what the sink added, without its prefix; it is empty for
    those of a Kafka Connect that writes no such headers. `timestamp` in epoch milliseconds is the message's: the time
    of writing for those of frazil, the record's own for those of Kafka Connect.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    context: dict[str, str] = field(default_factory=dict)

    @property
    def position(self) -> Coordinates:
        """Topic, partition and offset of the dead letter itself."""
        return self.topic, self.partition, self.offset

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.key or b"") + len(self.value or b"")

    @property
    def connector(self) -> str:
        """Name of the connector that could not store the record, or whose `backfill` could not; empty when it is not
        known."""
        return _BACKFILL.sub("", self.context.get("connector.name", ""))

    @property
    def backfill(self) -> str:
        """Name of the backfill that could not store the record; empty when it was the connector itself."""
        name = self.context.get("connector.name", "")
        return name if name != self.connector else ""

    @property
    def table(self) -> str:
        """The table that refused the record; empty when the connector has no other."""
        return self.context.get(TABLE, "")

    @cached_property
    def record(self) -> Coordinates | None:
        """Topic, partition and offset of the original record; None when the dead letter does not tell."""
        topic, partition, offset = (self.context.get(name, "") for name in ("topic", "partition", "offset"))
        known = topic and _is_number(partition) and _is_number(offset)
        return (topic, int(partition), int(offset)) if known else None

    @property
    def record_timestamp(self) -> int:
        """Time of the original record, in epoch milliseconds."""
        stored = self.context.get(RECORD_TIME, "")
        return int(stored) if _is_number(stored) else self.timestamp

    @cached_property
    def cause(self) -> tuple[str, str]:
        """Path of the column that refused its value (may be empty), and the reason."""
        text = self.context.get("exception.message", "").strip()
        topic, partition, offset = (self.context.get(name, "") for name in ("topic", "partition", "offset"))
        where = f"topic {topic}, partition {partition}, offset {offset}"
        if not text.startswith(where):
            return "", text
        text = text.removeprefix(where)
        if not text.startswith(", column "):
            return "", text.removeprefix(": ")
        path, _, reason = text.removeprefix(", column ").partition(": ")
        return path, reason

    @property
    def kind(self) -> str:
        """Column and reason, without what differs between records of one mistake: examples of values."""
        path, reason = self.cause
        line = reason.partition("\n")[0]
        if line.endswith(")"):
            line = line.partition(" (")[0]
        return described(path, _REFUSED.sub("…", line[:_COMPARED]))


def described(path: str, reason: str) -> str:
    """`column <path>: <reason>`, or the reason alone."""
    return f"column {path}: {reason}" if path else reason


def read_letter(message: Message) -> Letter | None:
    """The dead letter of a message; None for a marker."""
    if closing(message) is not None:
        return None
    found = headers_of(message)
    headers: list[Header] = [(name, bytes_of(value)) for name, value in found]
    begin = max((i for i, (name, _) in enumerate(headers) if name in _FIRST_CONTEXT), default=len(headers))
    added = [(name, value) for name, value in headers[begin:] if _is_context(name)]
    kept = [*headers[:begin], *(header for header in headers[begin:] if not _is_context(header[0]))]
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None  # noqa: S101 - it was consumed
    return Letter(
        topic,
        partition,
        offset,
        message.timestamp()[1],
        bytes_of(message.key()),
        bytes_of(message.value()),
        tuple(kept),
        {
            name.removeprefix(PREFIX).removeprefix(OWN_PREFIX): (value or b"").decode(errors="replace")
            for name, value in added
        },
    )


@dataclass(frozen=True)
class Closing:
    """Effect of a marker in its own partition: it closes dead letters at these offsets, and all below `floor`.

    Only offsets before the marker's own count: a marker never closes what comes after it.
    """

    closed: Ranges = Ranges()
    floor: int = 0


def closing(message: Message) -> Closing | None:
    """Read a marker; None when the message is none."""
    headers = dict(headers_of(message))
    if message.value() is not None or STATE not in headers or any(name.startswith(_PREFIXES) for name in headers):
        return None
    own = message.offset() or 0
    floor = (bytes_of(headers.get(FLOOR)) or b"").decode(errors="replace")
    lowest = min(int(floor), own) if _is_number(floor) and len(floor) < _LONGEST_OFFSET else 0
    try:
        named = Ranges.parse((bytes_of(headers.get(CLOSED)) or b"").decode(errors="replace"))
    except ValueError:
        return Closing(floor=lowest)
    return Closing(Ranges((first, min(last, own - 1)) for first, last in named.pairs() if first < own), lowest)


def _is_context(name: str) -> bool:
    return name.startswith(_PREFIXES) or name in (RECORD_TIME, TABLE, SEAL)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
