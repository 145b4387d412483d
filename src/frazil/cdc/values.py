"""Values of a row in one form, whether they come from PostgreSQL or from a table that follows it."""

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS = timedelta(microseconds=1)
_DAY_US = 86_400_000_000
_DAYS_400 = 146_097
"""Days of 400 years, after which the calendar is the same."""
_FAR = re.compile(r"(\d{5,}|\d{4}(?=.* BC))(-\d\d-\d\d)((?: \d\d:\d\d:\d\d(?:\.\d+)?)?)(?:\+00)?( BC)?")
"""A day, and maybe a time, as PostgreSQL writes those of years that Python does not have."""
_ENDS = {
    end // unit: text
    for end, text in ((9_223_372_036_825_200_000, "infinity"), (-9_223_372_036_832_400_000, "-infinity"))
    for unit in (1, 1000)
}
"""Debezium's numbers for what is later, and earlier, than all times."""
_FROM_URL_SAFE = str.maketrans("-_", "+/")
_DAYS = {"Y": Decimal("365.25"), "M": Decimal("30.4375"), "D": Decimal(1)}
_SECONDS = {"H": Decimal(3600), "M": Decimal(60), "S": Decimal(1)}
_PART = re.compile(r"(-?[\d.]+)([YMDHS])")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PAIR = re.compile(rf"({_QUOTED})=>(?:({_QUOTED})|NULL)", re.DOTALL)

Form = Callable[[Any], object]


def form_of(postgres_type: str, *, millis: bool | None = None, of_hex: bool = False) -> Form:
    """Make the function that gives values of a type of PostgreSQL, by its name in `pg_type`, one form.

    It takes them as the database is asked for them and as a table has them, whatever `time.precision.mode` and such
    made of them. `millis`: whether times that are numbers count milliseconds; None where only their size tells.
    `of_hex`: whether bytes that are text are hexadecimal, not Base64.
    """
    if postgres_type.startswith("_"):
        element = form_of(postgres_type[1:], millis=millis)
        return lambda value: _elements(element, value)
    if of_hex and postgres_type == "bytea":
        return lambda value: bytes.fromhex(value) if isinstance(value, str) else bytes(value)
    timed = {"timestamp": _moment, "time": _time, "timetz": _time}.get(postgres_type)
    return partial(timed, millis=millis) if timed is not None else _FORMS.get(postgres_type, str)


def _elements(element: Form, value: Any) -> object:
    """An array, also of several dimensions."""
    return [
        None if one is None else _elements(element, one) if isinstance(one, list) else element(one) for one in value
    ]


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


def _moment(value: Any, millis: bool | None = None) -> object:
    """Microseconds since 1970, or infinity: numbers may be milliseconds, which are small enough to be of our times."""
    if isinstance(value, str):
        if value.endswith("infinity"):
            return value
        found = _FAR.fullmatch(value)
        if found is not None:
            near, years = _near(found)
            return (datetime.fromisoformat(f"{near}{found[3]}+00:00") - _EPOCH) // _MICROS + years * _DAYS_400 * _DAY_US
        value = datetime.fromisoformat(value)
    elif value in _ENDS:
        return _ENDS[value]
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // _MICROS
    return int(value) * 1000 if millis or (millis is None and abs(int(value)) <= 10**14) else int(value)


def _day(value: Any) -> object:
    if isinstance(value, str):
        if value.endswith("infinity"):
            return value
        found = _FAR.fullmatch(value)
        if found is not None:
            near, years = _near(found)
            return (date.fromisoformat(near) - _EPOCH_DAY).days + years * _DAYS_400
        value = date.fromisoformat(value[:10])
    return (value - _EPOCH_DAY).days if isinstance(value, date) else int(value)


def _near(found: re.Match[str]) -> tuple[str, int]:
    """A day of the years that Python has, and how many times 400 years it is before the one of a text."""
    year = 1 - int(found[1]) if found[4] else int(found[1])
    times, rest = divmod(year - 2000, 400)
    return f"{rest + 2000:04}{found[2]}", times


def _time(value: Any, millis: bool | None = None) -> object:
    if isinstance(value, str):
        if value.startswith("24:"):
            return _DAY_US + int(_time(f"00:{value[3:]}"))  # type: ignore[call-overload]
        value = time.fromisoformat(value)
    if isinstance(value, time):
        micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        return micros if value.tzinfo is None else micros - (value.utcoffset() or timedelta()) // _MICROS
    return int(value) * 1000 if millis or (millis is None and abs(int(value)) <= 86_400_000) else int(value)


def _interval(value: Any) -> object:
    """Microseconds of a number, or of Debezium's text, such as P1Y2M3DT4H5M6.7S: a month has 30.4375 days."""
    if not isinstance(value, str):
        return int(value)
    day, _, clock = value.partition("T")
    parts = [(_DAYS[unit] * _DAY_US, number) for number, unit in _PART.findall(day)]
    parts += [(_SECONDS[unit] * 1_000_000, number) for number, unit in _PART.findall(clock)]
    return int(sum(micros * Decimal(number) for micros, number in parts))


def _json(value: Any) -> object:
    return json.dumps(json.loads(value) if isinstance(value, str) else value, sort_keys=True, separators=(",", ":"))


def _bytes(value: Any) -> object:
    return base64.b64decode(value.translate(_FROM_URL_SAFE)) if isinstance(value, str) else bytes(value)


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
    "timestamptz": _moment,
    "interval": _interval,
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
