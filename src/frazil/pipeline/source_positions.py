"""Positions of change events in the database that they are from, which tell replayed events from new ones.

A capture that was killed sends again what it had sent since it last noted its position. In each partition of a topic
the events stand in the order of the database's commits, so one that stands before what the partition has already
brought, and was committed no later, is a repetition.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b

import msgspec

from frazil.pipeline.offsets import TopicPartition
from frazil.pipeline.route import CARE, field_reader
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.plugin import POSITION
from frazil.pipeline.values import Values


class EventPosition(msgspec.Struct, array_like=True, frozen=True):
    """Position of one event. `commit` is where the transaction before its own ended, None when that is not known;
    `lsn` is its own place in the log; `ts` is when it was committed, in epoch milliseconds. A row of a snapshot stands
    where the snapshot was taken."""

    commit: int | None
    lsn: int
    ts: int
    snapshot: bool
    transaction: int | None = None


class Taken(msgspec.Struct, array_like=True, frozen=True):
    """Moment at which the rows of a table were taken, all that transactions had committed by `ts`.

    `lsn` is the end of the log then. Transactions below `xmax` had begun; those of `running`, and those above, had not
    been committed. `slot`: the replication slot that brings what they do.
    """

    slot: str
    lsn: int
    ts: int
    xmax: int
    running: frozenset[int]

    def has(self, event: EventPosition) -> bool:
        """Whether the rows had the change already.

        A transaction writes its changes to the log before it is committed, so none behind `lsn` can have been. Below,
        the number of its transaction decides, of which an event has 32 bits.
        """
        if event.transaction is None or event.snapshot or event.lsn >= self.lsn or event.ts > self.ts:
            return False
        behind = (self.xmax - event.transaction) % _XIDS
        return 0 < behind < _XIDS // 2 and self.xmax - behind not in self.running


@dataclass(frozen=True)
class Reached:
    """Position up to which a partition has brought the events; `open` while no transaction has ended since a
    snapshot. `seen` are marks of the records that stand there, where it matters."""

    commit: int
    lsn: int
    ts: int
    open: bool
    seen: tuple[int, ...] = ()

    @property
    def order(self) -> int:
        """Place among the events of a row: changes that a snapshot did not see stand behind it, wherever they were
        logged."""
        return self.lsn if self.lsn >= self.commit else self.commit + bool(self.lsn)


SourcePositions = Mapping[TopicPartition, Reached]
TakenRows = Mapping[str, Taken]
"""Moments at which rows of a table were taken, by the topic that brings their changes."""
_XIDS = 1 << 32


def advanced(reached: Reached | None, event: EventPosition) -> Reached | None:
    """The position once the event has come; None for an event that is repeated.

    A database that was restored has lower positions, and later times: its events are new. So is what was logged behind
    a snapshot, also by the first transaction after it, which names the one before.
    """
    if event.snapshot:
        found = Reached(event.lsn, 0, event.ts, open=True)
    elif event.commit is None and reached is not None and reached.open:
        found = Reached(reached.commit, event.lsn, event.ts, open=True)
    else:
        found = Reached(event.commit or 0, event.lsn, event.ts, open=event.commit is None)
    if reached is None:
        return found
    behind = not reached.lsn and event.lsn >= reached.commit
    if (found.commit, found.lsn) < (reached.commit, reached.lsn) and event.ts <= reached.ts and not behind:
        return None
    return replace(found, ts=max(found.ts, reached.ts))


class ReplayFilter:
    """Leaves repeated events out; used for the records of one table in one task, in the order of their offsets.

    With `each` an event is no longer as good once more: the newest one is left out too when it comes again, and the
    place of an event that brings none is its offset. `anew` tells whether a snapshot has come after events.
    """

    def __init__(self, reached: SourcePositions, taken: TakenRows | None = None, *, each: bool = False) -> None:
        self.reached = dict(reached)
        self.anew = False
        self._taken = taken or {}
        self._position = _reader()
        self._each = each

    def fresh(self, rows: Rows, values: Values) -> tuple[Rows, Values]:
        """Keep the values of events that are new. The rows have their places in the log, in place of the timestamps,
        as far as they bring any."""
        key = rows.topic, rows.partition
        taken = self._taken.get(rows.topic)
        kept: list[int] = []
        order = (rows.offsets if self._each else rows.stamps).copy()
        last = -1
        for index, value in enumerate(values.values):
            event = None if value is None else self._position(value)
            if event is not None:
                before, position = self.reached.get(key), values.position(index)
                after = advanced(before, event)
                if after is None or (taken is not None and taken.has(event)):
                    continue
                record = rows.keys[position]
                if self._each and record is not None and not event.snapshot:
                    same = before is not None and (before.commit, before.lsn) == (after.commit, after.lsn)
                    seen, mark = before.seen if before is not None and same else (), _mark(record)
                    if mark in seen and position != last:  # which brings several changes
                        continue
                    after = replace(after, seen=(*seen, mark) if position != last else seen)
                self.anew |= event.snapshot and before is not None and before.commit != event.lsn
                self.reached[key] = after
                order[position] = after.order
                last = position
            kept.append(index)
        return replace(rows, stamps=order), values.only(kept)


def _mark(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big")


def _reader() -> Callable[[bytes], EventPosition | None]:
    """Make a function for the position that a record brings; None where it brings none."""
    read = field_reader(POSITION)
    decode = msgspec.json.Decoder(EventPosition).decode

    def position(value: bytes) -> EventPosition | None:
        try:
            found = read(value)
            return None if found is None or found == b"null" else decode(found)
        except (*CARE, msgspec.MsgspecError):
            return None  # the decoder says what is wrong with the record

    return position


def to_json(positions: SourcePositions) -> str:
    """Positions as text for a snapshot's summary."""
    found: dict[str, dict[str, list[int | bool | tuple[int, ...]]]] = {}
    for (topic, partition), at in sorted(positions.items()):
        seen = [at.seen] if at.seen else []
        found.setdefault(topic, {})[str(partition)] = [at.commit, at.lsn, at.ts, at.open, *seen]
    return json.dumps(found, separators=(",", ":"))


def from_json(text: str) -> dict[TopicPartition, Reached]:
    """Positions of a snapshot's summary."""
    found: dict[str, dict[str, tuple[int, int, int, bool, list[int]]]] = json.loads(text)
    return {
        (topic, int(partition)): Reached(*place[:4], *map(tuple, place[4:]))
        for topic, partitions in found.items()
        for partition, place in partitions.items()
    }


def taken_to_json(taken: TakenRows) -> str:
    """Moments as text for a property of the table."""
    return msgspec.json.encode(taken).decode()


def taken_from_json(text: str) -> dict[str, Taken]:
    """Moments of a property of the table."""
    return msgspec.json.decode(text, type=dict[str, Taken])
