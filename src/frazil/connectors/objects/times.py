"""The time of a record from one of its fields, in epoch milliseconds."""

from __future__ import annotations

import datetime as dt
import re

import msgspec

from frazil.pipeline.types import Scalar, Type

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLIS = re.compile(r"-?[0-9]{1,19}")
_LONG = 1 << 63
_text = msgspec.json.Decoder(str).decode
_number = msgspec.json.Decoder(float).decode


def field_time(raw: bytes | None, path: str, type_: Type | None = None) -> int:
    """The time that the source text of a member stands for.

    Whole numbers and texts of digits are epoch milliseconds, other texts are ISO-8601, in UTC when they have no zone.
    `type_` is that of the record's schema, if it has one; without, a fraction of a millisecond is cut off. Raises
    ValueError, with Connect's text, for anything else.
    """
    if raw is None or raw[:1] in (b"{", b"[", b"t", b"f") or not _tells_time(type_):
        raise ValueError(f"Error extracting timestamp from record field: {path}")
    if raw[:1] != b'"':
        try:
            return _checked(int(raw))
        except ValueError:
            return _fraction(raw)
    text = _text(raw)
    return _checked(int(text)) if _MILLIS.fullmatch(text) else iso_time(text)


def _fraction(raw: bytes) -> int:
    try:
        return _checked(int(_number(raw)))
    except (msgspec.MsgspecError, OverflowError):
        raise ValueError(f"Invalid format: {raw[:60].decode()} is no number of 64 bits") from None


def _tells_time(type_: Type | None) -> bool:
    if type_ is None:
        return True
    return isinstance(type_, Scalar) and type_.kind in ("int", "long", "string", "timestamptz")


def _checked(number: int) -> int:
    if not -_LONG <= number < _LONG:
        raise ValueError(f"Invalid format: {number} is no number of 64 bits")
    return number


def iso_time(text: str) -> int:
    """Epoch milliseconds of an ISO-8601 text. Raises ValueError for another one."""
    try:
        if len(text) > 10 and "T" not in text:
            raise ValueError(text)
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'Invalid format: "{text[:60]}" is malformed') from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return (moment - _EPOCH) // dt.timedelta(milliseconds=1)
