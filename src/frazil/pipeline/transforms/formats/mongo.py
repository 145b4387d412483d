"""Change events of Debezium for MongoDB: documents as texts of extended JSON."""

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from frazil.pipeline.transforms.formats.change import Change, Format, key_members
from frazil.pipeline.transforms.formats.debezium import is_event, operation_of, source_name
from frazil.pipeline.transforms.record import (
    NULL,
    DataError,
    Json,
    Members,
    Raw,
    Record,
    is_null,
    object_or_none,
    quoted,
    raw_bytes,
    text_of,
)
from frazil.pipeline.types import Scalar, Typed

_ID = "_id"
_MOST_LEVELS = 100
_TIME = Scalar("timestamptz")
_NO_DOCUMENT = (
    "after has no document. Set capture.mode=change_streams_update_full, Debezium's default, in the source connector"
)
_NO_KEY = "a delete has no key with the field id, which says what document goes"
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _changes(event: Members, record: Record) -> Sequence[Change]:
    told = operation_of(event)
    if told is None:
        return ()
    source = object_or_none(event["source"]) or {}
    before = None if told in ("I", "T") else _document(event, "before")
    row: Members | None = {}
    if told != "T":
        row = {**(before or {}), _ID: _key(record)} if told == "D" else _document(event, "after")
    if row is None:
        raise DataError(_NO_DOCUMENT)
    return (Change(told, row, event.get("ts_ms", NULL), source_name(source, "db", "collection"), before=before),)


def _document(event: Members, name: str) -> Members | None:
    text = event.get(name, NULL)
    if is_null(text):
        return None
    opened = object_or_none(_plain(text_of(text).encode(), _MOST_LEVELS))
    if opened is None:
        raise DataError(f"{name} is no document")
    return opened


def _key(record: Record) -> Json:
    """The key is `{"id": "…"}`, whose text is the value of `_id`."""
    id_ = key_members(record).get("id")
    if id_ is None or is_null(id_):
        raise DataError(_NO_KEY)
    return _plain(text_of(id_).encode(), _MOST_LEVELS)


def _plain(raw: bytes, left: int) -> Json:
    """Read extended JSON: numbers are numbers, times are texts of ISO 8601, ids and binary are texts.

    What has no such form stays as it is.
    """
    if not left:
        raise DataError("the document is nested too deeply")
    if raw[:1] == b"[":
        return Raw(b"[" + b",".join(raw_bytes(_plain(bytes(item), left - 1)) for item in _array(raw)) + b"]")
    if raw[:1] != b"{":
        return Raw(raw)
    members = _object(raw)
    if len(members) == 1:
        ((name, value),) = members.items()
        special = _SPECIAL.get(name)
        if special is not None:
            return special(bytes(value))
    return {name: _plain(bytes(value), left - 1) for name, value in members.items()}


def _number(raw: bytes) -> Json:
    text = msgspec.json.decode(raw, type=str)
    return quoted(text) if text in ("NaN", "Infinity", "-Infinity") else Raw(text.encode())


def _date(raw: bytes) -> Json:
    """Milliseconds, as a number or as `$numberLong`, or ISO 8601."""
    found: Any = msgspec.json.decode(raw)
    if isinstance(found, str):
        return Typed(quoted(found), _TIME)
    millis = int(found["$numberLong"] if isinstance(found, dict) else found)
    try:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=millis)
    except OverflowError:
        raise DataError(f"the date {millis} ms lies beyond the years 1 to 9999") from None
    return Typed(quoted(f"{moment.isoformat(timespec='milliseconds')}Z"), _TIME)


def _binary(raw: bytes) -> Json:
    found: Any = msgspec.json.decode(raw)
    return quoted(found["base64"] if isinstance(found, dict) else found)


_SPECIAL: dict[str, Callable[[bytes], Json]] = {
    "$oid": Raw,
    "$symbol": Raw,
    "$numberInt": _number,
    "$numberLong": _number,
    "$numberDouble": _number,
    "$numberDecimal": _number,
    "$date": _date,
    "$binary": _binary,
    "$undefined": lambda raw: NULL,
}

MONGO_FORMAT = Format(
    is_event=is_event,
    changes=_changes,
    key_names=lambda names: (_ID,) if names == ("id",) else names,
    reads_keys=True,
    makes_types=True,
)
