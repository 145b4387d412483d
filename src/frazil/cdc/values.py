"""Values of a row in one form, whether they come from PostgreSQL or from a table that follows it."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS = timedelta(microseconds=1)
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PAIR = re.compile(rf"({_QUOTED})=>(?:({_QUOTED})|NULL)", re.DOTALL)

Form = Callable[[Any], object]


def form_of(postgres_type: str) -> Form:
    """Make the function that gives values of a type of PostgreSQL, by its name in `pg_type`, one form.

    It takes them as psycopg reads them and as a table has them, whatever `time.precision.mode` and such made of them.
    """
    if postgres_type.startswith("_"):
        element = form_of(postgres_type[1:])
        return lambda value: [None if one is None else element(one) for one in value]
    return _FORMS.get(postgres_type, str)


def _number(value: Any) -> object:
    """A decimal by its value: 1.50 is 1.5. Debezium sends those without a scale as an object of scale and bytes."""
    if isinstance(value, Mapping):
        raw = value["value"]
        unscaled = int.from_bytes(raw if isinstance(raw, bytes) else base64.b64decode(raw), "big", signed=True)
        return _number(Decimal(unscaled).scaleb(-int(value["scale"])))
    found = Decimal(str(value))
    return format(found.normalize(), "f") if found.is_finite() and found else str(found if not found.is_finite() else 0)


def _double(value: Any) -> object:
    found = float(value)
    return "NaN" if math.isnan(found) else found


def _single(value: Any) -> object:
    return _double(np.float32(value))


def _moment(value: Any) -> object:
    """Microseconds since 1970: numbers are milliseconds where they are small enough to be of our times."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // _MICROS
    return int(value) if abs(int(value)) > 10**14 else int(value) * 1000


def _day(value: Any) -> object:
    if isinstance(value, str):
        value = date.fromisoformat(value[:10])
    return (value - _EPOCH_DAY).days if isinstance(value, date) else int(value)


def _time(value: Any) -> object:
    if isinstance(value, str):
        value = time.fromisoformat(value)
    if isinstance(value, time):
        micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        return micros if value.tzinfo is None else micros - (value.utcoffset() or timedelta()) // _MICROS
    return int(value) if abs(int(value)) > 86_400_000 else int(value) * 1000


def _json(value: Any) -> object:
    return json.dumps(json.loads(value) if isinstance(value, str) else value, sort_keys=True, separators=(",", ":"))


def _bytes(value: Any) -> object:
    return base64.b64decode(value) if isinstance(value, str) else bytes(value)


def _bits(value: Any) -> object:
    """Bits as a number: Debezium sends bytes, the last bits first."""
    if isinstance(value, bool):
        return int(value)
    return int.from_bytes(value, "little") if isinstance(value, bytes) else int(value or "0", 2)


def _pairs(value: Any) -> object:
    """An hstore, as PostgreSQL writes it or as JSON."""
    if value.startswith("{"):
        return dict(sorted(json.loads(value).items()))
    return dict(sorted((_unquoted(name), _unquoted(text) if text else None) for name, text in _PAIR.findall(value)))


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _coordinates(value: Any) -> object:
    """A point: a struct has its coordinates beside other fields."""
    found = (value["x"], value["y"]) if isinstance(value, Mapping) else value.strip("()").split(",")
    return [_double(one) for one in found]


def _vector(value: Any) -> object:
    return [_single(one) for one in (value.strip("[]").split(",") if isinstance(value, str) else value)]


def _uuid(value: Any) -> object:
    return str(value).lower()


_FORMS: Mapping[str, Form] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), int),
    **dict.fromkeys(("numeric", "money"), _number),
    **dict.fromkeys(("timestamp", "timestamptz"), _moment),
    **dict.fromkeys(("time", "timetz"), _time),
    **dict.fromkeys(("json", "jsonb"), _json),
    "bool": bool,
    "float4": _single,
    "float8": _double,
    "date": _day,
    "bytea": _bytes,
    "uuid": _uuid,
    **dict.fromkeys(("bit", "varbit"), _bits),
    "hstore": _pairs,
    "point": _coordinates,
    "vector": _vector,
}
