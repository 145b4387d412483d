"""Rows that follow a database while their keys change: an update leaves a row behind under its former key, or in
another table.

A transformation of change events knows the row before and after, and by `IDS` what rows are found by. It has the former
row deleted, or notes in `_cdc` what cannot be told; `pipeline.told` decides for each table.
"""

import copy
from collections.abc import Sequence
from functools import lru_cache

from frazil.pipeline.transforms.plugin import ALL, IDS, KEY, MOVED, OPERATION, TRUNCATES, UNTOLD, Options
from frazil.pipeline.transforms.record import (
    DataError,
    Members,
    Raw,
    Record,
    encode,
    object_or_none,
    quoted,
    raw_bytes,
)

EMPTIES = b'{"_cdc":{"op":"T"'
"""Begin of the value of a record that empties its tables."""
_TRUNCATED = (
    "the table was truncated in the database, which is carried out where all records are of one partition, and none of "
    "them names its table. Empty the table if that is meant, then leave this record out; Debezium sends none with "
    "skipped.operations=t, its default"
)


def beside(record: Record) -> Record:
    """Make another record of the same place."""
    other = copy.copy(record)
    other.others, other.headers = [], list(record.headers)
    return other


class Following:
    """Notes for one chain what its events do to rows beside the one that they bring."""

    def __init__(self, options: Options) -> None:
        ids = options.get(IDS)
        found = frozenset(ids) if isinstance(ids, tuple) else frozenset()
        self._finds = lru_cache(4096)(lambda name: name.lower() in found)
        self._all = options.get(ALL) is True
        self._truncates = options.get(TRUNCATES) is True

    def update(self, record: Record, row: Members, before: Members | None, key: Sequence[str] = ()) -> None:
        """Have the row as it was before deleted, if it is another one by now; `row` is the value of the record.

        `key` names the fields of its key, where the event does.
        """
        if before is None:
            self.untold(row)
            return

        def differs(name: str) -> bool:
            return name not in row or raw_bytes(before[name]) != raw_bytes(row[name])

        moved = [name for name in before if self._finds(name) and differs(name)]
        if not moved and not (self._all and any(map(differs, before))):
            return
        self._note(row, MOVED, moved)
        self._note(row, KEY, key)
        told = object_or_none(row.get(OPERATION[0])) or {}
        other = beside(record)
        other.value = {**row, **before, OPERATION[0]: {**told, OPERATION[1]: quoted("D")}}
        record.others = [*record.others, other]

    def untold(self, row: Members) -> None:
        """Note that an event may hide what its row was found by; `row` is the value of its record."""
        self._note(row, UNTOLD, [name for name in row if self._finds(name)])

    def truncate(self, record: Record, told: Members) -> None:
        """Have all rows deleted; `told` are the notes of the event. Raises DataError where that cannot be in order."""
        if not self._truncates:
            raise DataError(_TRUNCATED)
        record.value = {OPERATION[0]: {OPERATION[1]: quoted("T"), **told}}

    @staticmethod
    def _note(row: Members, what: str, names: Sequence[str]) -> None:
        if names:
            told = object_or_none(row.get(OPERATION[0])) or {}
            told[what] = Raw(encode(names))
            row[OPERATION[0]] = told
