"""Change events that do not tell which row they are about, where rows are found by more than the record's key."""

from collections.abc import Collection

import msgspec

from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.keys import KeyConverter, key_fields
from frazil.pipeline.transforms.plugin import KEY, MOVED, OPERATION, UNTOLD
from frazil.pipeline.values import Values

_UNTOLD = (
    "rows are found by {}, which the record's key does not have, and the event does not say what it was before. Have "
    "the source send whole rows (PostgreSQL: ALTER TABLE … REPLICA IDENTITY FULL), or find rows by the record's key"
)
_MOVED = (
    "the update changes {}, which is of the record's key, so that changes of the former row are in another partition, "
    "and may come later. Use a topic with one partition; or delete the row and insert it anew in the database, then "
    "leave this record out"
)
_FILLED = (b"null", b"0", b"0.0", b"false", b'""')
"""Values that PostgreSQL's events have in the fields of a deleted row beside its key, where that is all they know."""
_MARKS = {what: f'"{what}":'.encode() for what in (UNTOLD, MOVED)}
_KEYS = 100
"""Records of a chunk among which a key is looked for: records about all rows have none."""
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_names = msgspec.json.Decoder(list[str]).decode


def untold(
    rows: Rows, values: Values, ids: Collection[str], key: KeyConverter, *, in_order: bool
) -> list[tuple[int, ConversionError]]:
    """Find the values of a table, whose rows are found by the fields `ids`, that may leave a row behind.

    `in_order`: all records of the batch are of one partition. Records without a key that can be read are taken as told.
    """
    some = min(len(values.values), _KEYS)
    first = key_fields(rows.take([values.position(index) for index in range(some)]), key)
    names = frozenset(name.lower() for one in first for name in one)
    wanted = [UNTOLD] if first and not names.issuperset(ids) else []
    wanted += [] if in_order else [MOVED]
    found: dict[int, ConversionError] = {}
    for index, value in enumerate(values.values) if wanted else ():
        if value is not None and any(_MARKS[what] in value for what in wanted):
            position = values.position(index)
            reason = _reason(value, ids, key_fields(rows.take([position]), key))
            if reason:
                found[position] = ConversionError("", reason)
    return list(found.items())


def _reason(value: bytes, ids: Collection[str], keys: Collection[tuple[str, ...]]) -> str:
    members = _object(value)
    change = _object(members.pop(OPERATION[0], b"{}"))
    for key in (_told(change, KEY),) if KEY in change else keys:
        inside = {name.lower() for name in key}
        moved = [name for name in _told(change, MOVED) if name.lower() in inside]
        if moved:
            return _MOVED.format(" and ".join(moved))
        hidden = [name for name in _told(change, UNTOLD) if name.lower() in ids and name.lower() not in inside]
        deletes = bytes(change.get(OPERATION[1], b"")) == b'"D"'
        others = (bytes(one) for name, one in members.items() if name.lower() not in inside)
        if hidden and not (deletes and any(one not in _FILLED for one in others)):
            return _UNTOLD.format(" and ".join(hidden))
    return ""


def _told(change: dict[str, msgspec.Raw], what: str) -> list[str]:
    return _names(change[what]) if what in change else []
