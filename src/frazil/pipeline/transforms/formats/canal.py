"""Change events of Canal, which reads MySQL: one has all rows of a statement that a batch of the log holds.

Values are texts; `mysqlType` says what they are.
"""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

import msgspec

from frazil.pipeline.transforms.formats.change import Change, Format, Operation
from frazil.pipeline.transforms.record import (
    NULL,
    DataError,
    Json,
    Members,
    Raw,
    Record,
    quoted,
    raw_bytes,
    text_of,
)
from frazil.pipeline.types import Scalar, Typed

_OPERATIONS: dict[str, Operation] = {"INSERT": "I", "UPDATE": "U", "DELETE": "D", "TRUNCATE": "T"}
_OTHER = frozenset(
    ("QUERY", "CREATE", "ALTER", "ERASE", "RENAME", "CINDEX", "DINDEX", "GTID", "XACOMMIT", "XAROLLBACK", "MHEARTBEAT")
    + ("TIDB_WATERMARK",)
)
_TYPE = re.compile(r"([a-z]+)(?: *\( *(\d+)(?: *, *(\d+))? *\))?")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_MAX_PRECISION = 38
_rows = msgspec.json.Decoder(list[dict[str, Raw]] | None).decode
_texts = msgspec.json.Decoder(dict[str, str] | None).decode
_names = msgspec.json.Decoder(tuple[str, ...] | None).decode

Read = Callable[[str], Json]


def _is_event(value: Members) -> bool:
    return value.keys() >= {"database", "table", "type", "isDdl", "data"}


def _changes(event: Members, record: Record) -> Sequence[Change]:
    word = text_of(event["type"])
    if word in _OTHER:
        return ()
    operation = _OPERATIONS.get(word)
    if operation is None:
        raise DataError(f"type is {word!r}, which is no operation of Canal")
    at, source = event.get("es", NULL), f"{text_of(event['database'])}.{text_of(event['table'])}"
    if operation == "T":
        return (Change(operation, {}, at, source),)
    try:
        rows, former = _rows(raw_bytes(event["data"])) or [], _rows(raw_bytes(event.get("old", NULL))) or []
        types = _texts(raw_bytes(event.get("mysqlType", NULL))) or {}
        key = _names(raw_bytes(event.get("pkNames", NULL))) or ()
    except msgspec.ValidationError as error:
        raise DataError(f"an event of Canal has other data, old, mysqlType or pkNames: {error}") from None
    reads = {name: _read(text.lower()) for name, text in types.items()}
    changes = []
    for row, old in zip_longest(rows, former[: len(rows)]):
        before = _typed(old, reads) if old is not None and operation == "U" else None
        changes.append(Change(operation, _typed(row, reads), at, source, before=before, key=key))
    return changes


def _typed(row: Mapping[str, Raw], reads: Mapping[str, Read]) -> Members:
    return {
        name: reads[name](text_of(value)) if name in reads and raw_bytes(value)[:1] == b'"' else value
        for name, value in row.items()
    }


def _read(type_: str) -> Read:
    """Make the function for the texts of a type of MySQL. TIMESTAMP is as Canal's server shows it, without a zone."""
    found = _TYPE.match(type_)
    name, precision, scale = found.groups(default="0") if found is not None else ("", "0", "0")
    if name in ("decimal", "numeric"):
        digits = int(precision) or 10
        return quoted if digits > _MAX_PRECISION else _number(Scalar("decimal", precision=digits, scale=int(scale)))
    if name.endswith("int") or name in ("integer", "year", "float", "double", "real", "bit"):
        return _number(None)
    if name in ("date", "datetime", "timestamp"):
        return _time(Scalar("date" if name == "date" else "timestamp"))
    if name.endswith(("blob", "binary")):
        return _bytes
    return quoted


def _number(type_: Scalar | None) -> Read:
    def read(text: str) -> Json:
        if _NUMBER.fullmatch(text) is None:
            return quoted(text)
        raw = Raw(text.encode())
        return raw if type_ is None else Typed(raw, type_)

    return read


def _time(type_: Scalar) -> Read:
    """Times of MySQL that no calendar has, such as 0000-00-00, are null."""

    def read(text: str) -> Json:
        return NULL if text.startswith("0000-") else Typed(quoted(text.replace(" ", "T")), type_)

    return read


def _bytes(text: str) -> Json:
    """Canal shows each byte as the character of its number."""
    return Typed(quoted(base64.b64encode(text.encode("latin-1")).decode()), Scalar("binary"))


CANAL = Format(is_event=_is_event, changes=_changes, makes_types=True)
