"""TimezoneConverter: times of a change event in another time zone."""

import datetime as dt
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from frazil.declare.definition import Key, Value, invalid_value
from frazil.pipeline.convert import scalars
from frazil.pipeline.transforms.debezium_event import PACKAGE, change_event, state
from frazil.pipeline.transforms.plugin import Options, Problems, Transformation, items, text
from frazil.pipeline.transforms.record import (
    Apply,
    Json,
    Members,
    Part,
    Raw,
    Record,
    is_null,
    object_or_none,
    quoted,
    raw_bytes,
    retyped,
    text_of,
)
from frazil.pipeline.types import Scalar, Typed
from frazil.text.time_zones import time_zone

_TIME = "io.debezium.time."
_UNITS = {
    f"{_TIME}Timestamp": 10**3,
    f"{_TIME}MicroTimestamp": 10**6,
    f"{_TIME}NanoTimestamp": 10**9,
    "org.apache.kafka.connect.data.Timestamp": 10**3,
}
"""Units in a second of times without a zone, by the name of their schema."""
_ZONED_TIMESTAMP, _ZONED_TIME = f"{_TIME}ZonedTimestamp", f"{_TIME}ZonedTime"
_OF_SOURCE = {"ts_ms": 10**3, "ts_us": 10**6, "ts_ns": 10**9}
_ZONED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")
_CLOCK = re.compile(r"(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")
_RULE = re.compile(r'(?:(source|topic):)?([".\w\s]+)(?::([".\w\s]+))?')
_EPOCH = dt.datetime(1970, 1, 1)

_Names = dict[str, set[str]]


@dataclass
class _Rules:
    """Names of fields by what they are for: topics, tables, or either; no field stands for all."""

    topic: _Names = field(default_factory=dict)
    source: _Names = field(default_factory=dict)
    either: _Names = field(default_factory=dict)

    def fields_for(self, table: str | None, topic: str) -> set[str] | None:
        """Find the fields of the first rule for a record; None when there is none."""
        lookups = ((self.topic, topic), (self.source, table), (self.either, topic), (self.either, table))
        return next((names[name] for names, name in lookups if name in names), None)


def _rules(entries: Iterable[str]) -> _Rules:
    """Read rules; `source` or `topic` holds for those behind it too."""
    found, names = _Rules(), None
    for entry in entries:
        match = _RULE.fullmatch(entry)
        if match is None:
            continue
        names = {"topic": found.topic, "source": found.source}.get(match[1] or "", names)
        into = (found.either if names is None else names).setdefault(match[2], set())
        if match[3]:
            into.add(match[3])
    return found


def _build(options: Options, part: Part) -> Apply:
    """Records without a schema stay as they are, since nothing says which numbers are times."""
    zone = time_zone(text(options, "converted.timezone"))
    included, excluded = _rules(items(options, "include.list")), _rules(items(options, "exclude.list"))
    includes, excludes = bool(items(options, "include.list")), bool(items(options, "exclude.list"))

    def apply(record: Record) -> None:
        event = change_event(record)
        if event is None or not record.typed:
            return
        source = object_or_none(event["source"])
        table = text_of(source["table"]) if source and "table" in source and not is_null(source["table"]) else None
        fields: set[str] | None = set()
        if includes:
            fields = included.fields_for(table, record.topic)
        elif excludes:
            fields = excluded.fields_for(table, record.topic)
        if (includes and fields is None) or (excludes and fields == set()):
            return
        for name in ("before", "after"):
            row = state(event, name)
            if row is not None:
                event[name] = row
                _convert(row, zone, _chosen(fields or set(), name, all_but=excludes))
        if source is not None and fields and includes:
            event["source"] = source
            _convert_source(source, zone, fields)

    return apply


def _chosen(fields: set[str], place: str, *, all_but: bool) -> Callable[[str], bool]:
    """Choose the members of a row: all of them when no field is named."""
    if not fields:
        return lambda name: True
    other = {"before.", "after.", "source."} - {f"{place}."}
    named = {one.removeprefix(f"{place}.") for one in fields if not one.startswith(tuple(other))}
    return lambda name: (name in named) is not all_but


def _convert(row: Members, zone: dt.tzinfo, chosen: Callable[[str], bool]) -> None:
    for name, value in row.items():
        if isinstance(value, Typed) and isinstance(value.type, Scalar) and not is_null(value) and chosen(name):
            row[name] = retyped(_converted(value, value.type.origin, zone), value)


def _converted(value: Typed, origin: str, zone: dt.tzinfo) -> Json:
    """Convert a time; one beyond the calendar stays as it is, as does a clock time in a zone with summer time."""
    if origin == _ZONED_TIMESTAMP:
        match = _ZONED.fullmatch(text_of(value))
        if match is not None:
            moment = dt.datetime.fromisoformat(match[1] + match[3])
            # The offset is that of the local time that the text has, as in Debezium.
            offset = zone.utcoffset(moment.replace(tzinfo=None)) or dt.timedelta()
            return quoted(_zoned(moment.astimezone(dt.timezone(offset)), match[2]))
    elif origin == _ZONED_TIME and isinstance(zone, dt.timezone):
        match = _CLOCK.fullmatch(text_of(value))
        if match is not None:
            moment = dt.datetime.fromisoformat(f"2000-01-02T{match[1]}{match[3]}").astimezone(zone)
            return quoted(_zoned(moment, match[2]).partition("T")[2])
    elif origin in _UNITS and scalars.kind_of(bytes(value.raw)) == "number":
        unit, number = _UNITS[origin], int(bytes(value.raw))
        offset_s = _offset_seconds(zone, number // unit)
        return value.raw if offset_s is None else Raw(b"%d" % (number - offset_s * unit))
    return value.raw


def _zoned(moment: dt.datetime, fraction: str | None) -> str:
    """Write a time of whole seconds, as ISO_OFFSET_DATE_TIME does."""
    written, digits = moment.isoformat(), (fraction or "").rstrip("0")
    offset = written[19:] if moment.utcoffset() else "Z"
    return f"{written[:19]}{'.' + digits if digits else ''}{offset}"


def _convert_source(source: Members, zone: dt.tzinfo, fields: set[str]) -> None:
    """Shift the times of the event itself, which are given in UTC."""
    for name, unit in _OF_SOURCE.items():
        value = source.get(name)
        if f"source.{name}" in fields and value is not None and scalars.kind_of(raw_bytes(value)) == "number":
            number = int(raw_bytes(value))
            offset = _offset_seconds(zone, number // unit, utc=True)
            source[name] = retyped(Raw(b"%d" % (number + (offset or 0) * unit)), value)


def _offset_seconds(zone: dt.tzinfo, seconds: int, *, utc: bool = False) -> int | None:
    """Find the offset of a zone at a local time, or at a time in UTC; None beyond the calendar."""
    try:
        moment = _EPOCH + dt.timedelta(seconds=seconds)
        found = moment.replace(tzinfo=dt.UTC).astimezone(zone).utcoffset() if utc else zone.utcoffset(moment)
    except OverflowError:
        return None
    return None if found is None else int(found.total_seconds())


def _check(prefix: str, options: Options) -> Problems:
    for name in ("include.list", "exclude.list"):
        wrong = [entry for entry in items(options, name) if _RULE.fullmatch(entry) is None]
        if wrong:
            reason = "Rules are source:table:field, topic:name:field or name:field, the field or the name alone too"
            yield name, invalid_value(prefix + name, options[name], reason)
    if items(options, "include.list") and items(options, "exclude.list"):
        yield "exclude.list", "Both include.list and exclude.list are set: remove one"


def _zone(value: Value) -> str | None:
    try:
        time_zone(str(value))
    except ValueError as error:
        return str(error)
    return None


def _list(what: str) -> Key:
    documentation = (
        f"Rules for what is {what}: source:table, source:table:field, topic:name, topic:name:field, name:field."
    )
    return Key(f"{what}.list", "LIST", documentation, default=(), importance="HIGH")


TIMEZONE_CONVERTER = Transformation(
    name="TimezoneConverter",
    documentation="Debezium: converts the times of change events with a schema. A time with a zone stays the instant "
    "that it is; a time without one is taken for a local time of the zone.",
    keys=(
        Key(
            "converted.timezone",
            "STRING",
            "A zone such as America/Los_Angeles, or an offset such as +08:00.",
            importance="HIGH",
            validator=_zone,
        ),
        _list("include"),
        _list("exclude"),
    ),
    packages=PACKAGE,
    check=_check,
    build=_build,
)
