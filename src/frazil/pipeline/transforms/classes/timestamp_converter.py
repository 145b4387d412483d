"""TimestampConverter: times between text, epoch numbers and the types of columns, exact to the nanosecond."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Final

from frazil.declare.definition import Key
from frazil.declare.validators import one_of
from frazil.pipeline.convert import scalars
from frazil.pipeline.schemas import connect
from frazil.pipeline.schemas.connect import ConnectSchema
from frazil.pipeline.transforms.plugin import (
    DATE_FORMAT,
    KEY_OR_VALUE,
    REPLACE_NULL,
    Options,
    Problems,
    Transformation,
    of_texts,
    text,
)
from frazil.pipeline.transforms.record import (
    Apply,
    DataError,
    Json,
    Part,
    Raw,
    Record,
    is_fraction,
    is_null,
    looked_at,
    members,
    quoted,
    raw_bytes,
    replace,
    string,
)
from frazil.pipeline.transforms.shapes import Derived, as_nullable
from frazil.pipeline.transforms.times import DATE, TIME, TIMESTAMP, told_nanos
from frazil.pipeline.types import Scalar, Typed
from frazil.text.java_dates import JavaDateFormat

_UNITS: Final[Mapping[str, int]] = {
    "seconds": 1_000_000_000,
    "milliseconds": 1_000_000,
    "microseconds": 1_000,
    "nanoseconds": 1,
}
_EPOCH = dt.datetime(1970, 1, 1)
_TYPES: Final = {"Date": DATE, "Time": TIME, "Timestamp": TIMESTAMP}
_RESULTS: Final = {
    "Date": Scalar("date", told=ConnectSchema("int32", name=connect.DATE, version=1).to_json()),
    "Time": Scalar("time", told=ConnectSchema("int32", name=connect.TIME, version=1).to_json()),
    "Timestamp": Scalar("timestamptz", told=ConnectSchema("int64", name=connect.TIMESTAMP, version=1).to_json()),
    "unix": Scalar("long", told=ConnectSchema("int64").to_json()),
    "string": Scalar("string", told=ConnectSchema("string").to_json()),
}
"""Types that records with a schema get, where the field was required."""


def _build(options: Options, part: Part) -> Apply:
    """Keep null and an absent field as they are."""
    name = text(options, "field")
    unit = _UNITS[text(options, "unix.precision")]
    pattern = text(options, "format")
    form = JavaDateFormat(pattern) if pattern.strip() else None
    target = text(options, "target.type")
    write, results = _writer(target, unit, form), Derived(as_nullable(_RESULTS[target]))

    def convert(value: Json, what: str) -> Json:
        try:
            return write(_read(value, unit, form))
        except ValueError as error:
            raise DataError(f"{what}: {error}") from None

    def noted(value: Json, before: Json, record: Record) -> Json:
        """Note the type of a value of a record with a schema, also of null."""
        return Typed(Raw(raw_bytes(value)), results.of(before)) if record.typed else value

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is not None:
            value = found.get(name)
            if value is not None:
                found[name] = noted(value if is_null(value) else convert(value, name), value, record)

    def apply_whole(record: Record) -> None:
        found = looked_at(record, part)
        if found is not None:
            replace(record, part, noted(convert(found, f"the {part}"), found, record))

    return apply if name else apply_whole


def _read(value: Json, unit: int, form: JavaDateFormat | None) -> int:
    """Nanoseconds since 1970-01-01T00:00Z."""
    raw = raw_bytes(value)
    kind = scalars.kind_of(raw)
    nanos = told_nanos(value)
    if nanos is not None:
        return nanos
    if kind == "text":
        if form is None:
            raise ValueError("the time is a text, and there is no format to read it with")
        return form.parse(string(raw))
    if kind != "number" or is_fraction(raw) or len(raw) > 20:
        raise ValueError(f"expected a text or a whole number for a time, got {kind} ({raw[:40].decode()})")
    return int(raw) * unit


def _writer(target: str, unit: int, form: JavaDateFormat | None) -> Callable[[int], Json]:
    if target == "string" and form is not None:
        return lambda nanos: quoted(form.format(nanos))
    if target == "unix":
        return lambda nanos: Raw(b"%d" % (nanos // unit))
    type_ = _TYPES[target]
    if target == "Date":
        return lambda nanos: Typed(quoted(_iso(nanos)[:10]), type_)
    if target == "Time":
        return lambda nanos: Typed(quoted(_iso(nanos)[11:-1]), type_)
    return lambda nanos: Typed(quoted(_iso(nanos)), type_)


def _iso(nanos: int) -> str:
    """ISO 8601 in UTC, with as many digits of a fraction as there are. Raises ValueError beyond the years 1 to 9999."""
    seconds, rest = divmod(nanos, 1_000_000_000)
    try:
        text = (_EPOCH + dt.timedelta(seconds=seconds)).isoformat()
    except OverflowError:
        raise ValueError("the time is outside of the years 1 to 9999") from None
    return f"{text}.{rest:09d}".rstrip("0") + "Z" if rest else f"{text}Z"


def _check(prefix: str, options: Options) -> Problems:
    """A pattern where there are texts, and one that can be used."""
    pattern = text(options, "format")
    if pattern.strip():
        try:
            JavaDateFormat(pattern)
        except ValueError as error:
            needed = "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps"
            yield "format", f"{needed}: {pattern} ({error})"
    elif options.get("target.type") == "string":
        yield "format", "TimestampConverter requires format option to be specified when using string timestamps"


TIMESTAMP_CONVERTER = Transformation(
    name="TimestampConverter",
    documentation="Converts a time between text, epoch and Date, Time or Timestamp.",
    keys=(
        Key("field", "STRING", "Name of the field; blank for the whole key or value.", default="", importance="HIGH"),
        Key(
            "target.type",
            "STRING",
            "string, unix (a number), Date (for a date column), Time (time) or Timestamp (timestamp).",
            importance="HIGH",
            validator=one_of("string", "unix", "Date", "Time", "Timestamp"),
        ),
        Key("format", "STRING", f"How texts look, on both sides. {DATE_FORMAT}", default=""),
        Key(
            "unix.precision",
            "STRING",
            "What an epoch number counts, on both sides: seconds, milliseconds, microseconds or nanoseconds.",
            default="milliseconds",
            importance="LOW",
            validator=one_of("nanoseconds", "microseconds", "milliseconds", "seconds"),
        ),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=_check,
    build=_build,
    fields=of_texts("field"),
    makes_types=lambda options: True,
)
