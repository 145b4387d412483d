"""Changes that a record tells of, and what a format of change events has to say of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from frazil.pipeline.transforms.record import (
    NULL,
    DataError,
    Json,
    Members,
    Record,
    is_null,
    looked_at,
    object_or_none,
    open_value,
    raw_bytes,
    text_of,
)

Operation: TypeAlias = Literal["I", "U", "D", "T"]
Path: TypeAlias = tuple[str, ...]


class Change(msgspec.Struct, frozen=True):
    """A change: the row after it, or before a delete; `source` names its table, `position` its place in the log.

    One that truncates the table has no row. `before` are fields of the row before an update, those that have changed at
    least; None where they are not told. `partial`: the row of a delete may have no fields but those of its key. `key`
    names the fields of the row's key, where the event does and not its record's key. `at` is the moment at which the
    database made it, in epoch milliseconds; `read`: a snapshot has read the row.
    """

    operation: Operation
    row: Members
    ts: Json
    source: str
    position: Json | None = None
    before: Members | None = None
    partial: bool = False
    key: tuple[str, ...] = ()
    at: Json = NULL
    read: bool = False


@dataclass(frozen=True, kw_only=True)
class Format:
    """A form of change events.

    `is_event` tells one by its members. `changes` reads one, which may be about no row. It raises DataError for one
    that cannot be carried out. `key_names` gives the columns that the fields of a record's key stand for. `reads_keys`:
    it needs the record's key. `makes_types`: it gives values whose type their text does not show.
    """

    is_event: Callable[[Members], bool]
    changes: Callable[[Members, Record], Sequence[Change]]
    key_names: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda names: names
    reads_keys: bool = False
    makes_types: bool = False


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Places of all parts of an event; `operations` are the words for them, those of `other` are about no row."""

    name: str
    operation: Path
    operations: Mapping[str, Operation]
    other: frozenset[str]
    row: Path
    before: Path
    ts: Path
    source: tuple[Path, ...]

    def changes(self, event: Members, record: Record) -> Sequence[Change]:
        """See `Format`."""
        word = _text(event, self.operation)
        if word in self.other:
            return ()
        operation = self.operations.get(word)
        if operation is None:
            raise DataError(f"{'.'.join(self.operation)} is {word!r}, which is no operation of {self.name}")
        row = _at(event, self.row)
        opened = {} if operation == "T" else None if row is None else object_or_none(row)
        if opened is None:
            raise DataError(f"{'.'.join(self.row)} is missing, or not an object, in an event of {self.name}")
        ts, before = _at(event, self.ts), _at(event, self.before)
        source = ".".join(text for path in self.source if (text := _text(event, path)))
        former = None if before is None else object_or_none(before)
        return (Change(operation, opened, NULL if ts is None else ts, source, before=former),)


def key_members(record: Record) -> Members:
    """Open the key of a record, which may be JSON in a text, with a schema beside it; empty when it is no object."""
    found: Json | None = looked_at(record, "key")
    if found is not None and raw_bytes(found)[:1] == b'"':
        text = text_of(found).encode()
        found = open_value(text) if text[:1] == b"{" else None
    opened = (None if found is None else object_or_none(found)) or {}
    return object_or_none(opened["payload"]) or {} if opened.keys() == {"schema", "payload"} else opened


def _at(event: Members, path: Path) -> Json | None:
    *outer, last = path
    for name in outer:
        found = event.get(name)
        event = (None if found is None else object_or_none(found)) or {}
    return event.get(last)


def _text(event: Members, path: Path) -> str:
    found = _at(event, path)
    return "" if found is None or is_null(found) else text_of(found)
