"""Keys of the partitioners of object sinks, and the rules between them."""

from dataclasses import dataclass
from typing import Literal, cast

from frazil.declare.definition import Key, Parsed, Validator, Value, invalid_value
from frazil.declare.placeholders import has_placeholder
from frazil.text.joda_dates import joda_pattern
from frazil.text.near import class_not_found
from frazil.text.time_zones import time_zone

PARTITIONERS = tuple(
    f"io.confluent.connect.storage.partitioner.{name}Partitioner"
    for name in ("Default", "Field", "TimeBased", "Daily", "Hourly")
)
COLUMNS = "frazil.ColumnPartitioner"
TIME_COLUMNS = {"year": "YYYY", "month": "MM", "day": "dd", "hour": "HH"}
"""Columns of ColumnPartitioner that are the record's time, with their Joda pattern."""
Extractor = Literal["Wallclock", "Record", "RecordField"]
_EXTRACTORS = ("Wallclock", "Record", "RecordField")
_TIMED = ("TimeBased", "Daily", "Hourly")
_HOUR_MS = 3_600_000
_FIELDS = "partition.field.name"
_FIXED = {
    "Daily": ("'year'=YYYY'{0}month'=MM'{0}day'=dd", 24 * _HOUR_MS),
    "Hourly": ("'year'=YYYY'{0}month'=MM'{0}day'=dd'{0}hour'=HH", _HOUR_MS),
}


def class_of(name: str, classes: tuple[str, ...]) -> str | None:
    """The full class name for a class name or its last part; None when it is none of the classes."""
    return next((known for known in classes if name in (known, known.rpartition(".")[2])), None)


def known_class(classes: tuple[str, ...]) -> Validator:
    """A validator: the value is one of the classes; null is the parser's error."""

    def check(value: Value) -> str | None:
        if value is None or class_of(str(value), classes):
            return None
        return class_not_found(str(value), classes)

    return check


def _zone(value: Value) -> str | None:
    if not value:
        return None
    try:
        time_zone(str(value))
    except ValueError as error:
        return str(error)
    return None


def _field_names(value: Value) -> str | None:
    names = value if isinstance(value, tuple) else ()
    wrong = [name for name in names if any(not part.strip() for part in name.split("."))]
    if not wrong or names == ("",):
        return None
    return f"Field names may not have empty segments: {', '.join(wrong)}"


def _extractor(value: Value) -> str | None:
    if value in _EXTRACTORS:
        return None
    return f"Invalid timestamp extractor: {value}. Use one of: {', '.join(_EXTRACTORS)}"


PARTITIONER_KEYS: tuple[Key, ...] = (
    Key(
        "partitioner.class",
        "CLASS",
        "How records are divided over folders: by Kafka partition, by fields, or by time.",
        default=PARTITIONERS[0],
        importance="HIGH",
        validator=known_class((*PARTITIONERS, COLUMNS)),
        recommended=PARTITIONERS,
    ),
    Key(
        "partition.field.name",
        "LIST",
        "Fields, as dotted paths, whose values name the folders of FieldPartitioner and of frazil.ColumnPartitioner; "
        "for the latter year, month, day and hour are those of the record's time.",
        default=(),
        validator=_field_names,
    ),
    Key(
        "partition.duration.ms",
        "LONG",
        "Width of the buckets of time of TimeBasedPartitioner, in milliseconds.",
        default=-1,
    ),
    Key("path.format", "STRING", "Joda pattern of the folders of TimeBasedPartitioner.", default=""),
    Key("locale", "STRING", "Language of the names of months and days in folders; only English has names.", default=""),
    Key(
        "timezone",
        "STRING",
        "Time zone of the folders and of rotate.schedule.interval.ms: an id such as Europe/Berlin, or +hh:mm.",
        default="",
        validator=_zone,
    ),
    Key(
        "timestamp.extractor",
        "STRING",
        "What the time of a record is: Wallclock (when it is read), Record (its Kafka timestamp) or RecordField (the "
        "field that timestamp.field names).",
        default="Wallclock",
        validator=_extractor,
    ),
    Key("timestamp.field", "STRING", "Dotted path of the time for RecordField.", default="timestamp"),
)


@dataclass(frozen=True)
class Partitioning:
    """Division of records. `pattern`, `zone` and `duration_ms` are set for partitioners by time, else empty and 0.

    `fields` are the paths of FieldPartitioner in order, or the columns of ColumnPartitioner, which has no pattern.
    `absent` is the folder of a record without a column's field; empty for that of an empty value.
    """

    kind: Literal["Default", "Field", "TimeBased", "Column"]
    fields: tuple[str, ...] = ()
    pattern: str = ""
    zone: str = ""
    duration_ms: int = 0
    extractor: Extractor = "Wallclock"
    time_field: str = ""
    absent: str = "unknown"


def kind_of(parsed: Parsed) -> str:
    """Partitioner: Default, Field, TimeBased, Daily, Hourly or Column; empty for an unknown class."""
    found = class_of(parsed.text("partitioner.class"), (*PARTITIONERS, COLUMNS))
    return found.rpartition(".")[2].removesuffix("Partitioner") if found else ""


def is_timed(parsed: Parsed) -> bool:
    """Whether records are divided by time."""
    kind = kind_of(parsed)
    return kind in _TIMED or (kind == "Column" and not TIME_COLUMNS.keys().isdisjoint(parsed.items(_FIELDS)))


_SHOWN = {
    "Field": ("partition.field.name",),
    "TimeBased": ("partition.duration.ms", "path.format", "locale", "timezone"),
    "Daily": ("locale", "timezone"),
    "Hourly": ("locale", "timezone"),
    "Column": ("partition.field.name", "timezone"),
}
"""Keys that a validation shows for a partitioner, and hides for others."""


def check_partitioner(parsed: Parsed) -> None:
    """Rules of the chosen partitioner; what would fail the task in Connect fails the validation."""
    kind = kind_of(parsed)
    if kind in ("Field", "Column") and not parsed.items(_FIELDS):
        reason = f"Partition field name cannot be null or empty when using {kind}Partitioner."
        for name in (_FIELDS, "partitioner.class"):
            parsed.fail(name, invalid_value(name, parsed.values[name], reason))
    if is_timed(parsed):
        _check_times(parsed, kind)
    _warn(parsed, kind)
    if kind:
        shown = _SHOWN.get(kind, ())
        parsed.hidden.update(name for names in _SHOWN.values() for name in names if name not in shown)


def _check_times(parsed: Parsed, kind: str) -> None:
    def refuse(name: str, reason: str) -> None:
        parsed.fail(name, invalid_value(name, parsed.values[name], reason))

    if not parsed.text("locale") and kind != "Column":
        refuse("locale", "Locale cannot be empty.")
    if not parsed.text("timezone"):
        refuse("timezone", "Timezone cannot be empty.")
    if kind != "TimeBased":
        return
    if parsed.number("partition.duration.ms") <= 0 and not has_placeholder(str(parsed.values["partition.duration.ms"])):
        refuse("partition.duration.ms", "Partition duration needs to be a positive.")
    pattern = parsed.text("path.format")
    delimiter = parsed.text("directory.delim")
    if not pattern or pattern == delimiter:
        refuse("path.format", "Path format cannot be empty.")
    elif not has_placeholder(pattern):
        try:
            compiled = joda_pattern(_without_end(pattern, delimiter))
        except ValueError as error:
            refuse("path.format", f"{error}. Text of its own stands in single quotes, as in 'year'=YYYY")
            return
        language = parsed.text("locale").replace("_", "-").partition("-")[0].lower()
        if compiled.has_names and language not in ("", "en", "root") and not has_placeholder(parsed.text("locale")):
            refuse("locale", "Names of months and days are English only: use numbers in path.format, or locale en")


def _without_end(pattern: str, delimiter: str) -> str:
    return pattern.removesuffix(delimiter) if delimiter else pattern


_ONLY_FOR: dict[str, tuple[tuple[str, ...], str]] = {
    "partition.field.name": (("Field", "Column"), "only FieldPartitioner and ColumnPartitioner read it"),
    "path.format": (("TimeBased",), "only TimeBasedPartitioner reads it"),
    "partition.duration.ms": (("TimeBased",), "only TimeBasedPartitioner reads it"),
    "locale": (_TIMED, "only partitioners by time read it"),
    "timestamp.extractor": ((*_TIMED, "Column"), "only partitioners by time read it"),
}


def _warn(parsed: Parsed, kind: str) -> None:
    for name, (kinds, reason) in _ONLY_FOR.items():
        if name in parsed.config and kind and kind not in kinds:
            parsed.warn(f"{name} has no effect here: {reason}")
    extractor = parsed.text("timestamp.extractor")
    if "timestamp.field" in parsed.config and kind and (not is_timed(parsed) or extractor != "RecordField"):
        parsed.warn(
            "timestamp.field has no effect here: only timestamp.extractor=RecordField reads it"
            + (f" (it is {extractor})" if is_timed(parsed) else "")
        )


def partitioning(parsed: Parsed) -> Partitioning:
    """The typed result of a configuration without errors."""
    kind = kind_of(parsed)
    if kind == "Default":
        return Partitioning("Default")
    columns = parsed.items(_FIELDS)
    if kind == "Field" or (kind == "Column" and not is_timed(parsed)):
        return Partitioning("Field" if kind == "Field" else "Column", columns)
    if kind == "Column":
        return Partitioning(
            "Column",
            columns,
            zone=parsed.text("timezone"),
            duration_ms=_HOUR_MS if "hour" in columns else 24 * _HOUR_MS,
            extractor=cast(Extractor, parsed.text("timestamp.extractor")),
            time_field=parsed.text("timestamp.field"),
        )
    delimiter = parsed.text("directory.delim")
    if kind in _FIXED:
        fixed, duration = _FIXED[kind]
        pattern = fixed.format(delimiter.replace("'", "''"))
    else:
        pattern = _without_end(parsed.text("path.format"), delimiter)
        duration = parsed.number("partition.duration.ms")
    return Partitioning(
        "TimeBased",
        pattern=pattern,
        zone=parsed.text("timezone"),
        duration_ms=duration,
        extractor=cast(Extractor, parsed.text("timestamp.extractor")),
        time_field=parsed.text("timestamp.field"),
    )
