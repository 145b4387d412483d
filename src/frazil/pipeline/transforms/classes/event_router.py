"""EventRouter: the messages that an application has put into its outbox table."""

from dataclasses import dataclass

import msgspec

from frazil.declare.definition import Key, invalid_value
from frazil.declare.validators import linear_java_regular_expression, one_of_any_case
from frazil.pipeline.transforms.classes.regex_router import check_replacement, renamer
from frazil.pipeline.transforms.debezium_event import change_event, field_text, state
from frazil.pipeline.transforms.plugin import Options, Problems, Transformation, items, text
from frazil.pipeline.transforms.record import (
    UNNAMED,
    Apply,
    DataError,
    Json,
    Members,
    Part,
    Raw,
    Record,
    is_null,
    raw_bytes,
    text_of,
)
from frazil.pipeline.types import Scalar, Typed

_PLACES = ("header", "envelope", "partition")
_PER_MILLISECOND = {
    "io.debezium.time.Timestamp": 1,
    "io.debezium.time.MicroTimestamp": 1_000,
    "io.debezium.time.NanoTimestamp": 1_000_000,
}


@dataclass(frozen=True)
class _More:
    """A column beside the payload: where it goes, and its name there."""

    column: str
    place: str
    name: str


def _more(options: Options) -> list[_More]:
    found = []
    for entry in items(options, "table.fields.additional.placement"):
        column, place, *other = (part.strip() for part in entry.split(":"))
        found.append(_More(column, place.lower(), other[0] if other else column))
    return found


def _build(options: Options, part: Part) -> Apply:
    """Updates, deletes and tombstones are dropped; what is no change event stays as it is."""
    id_, payload_, time_, route = (
        text(options, name)
        for name in (
            "table.field.event.id",
            "table.field.event.payload",
            "table.field.event.timestamp",
            "route.by.field",
        )
    )
    rename = renamer(text(options, "route.topic.regex"), text(options, "route.topic.replacement"))
    more, lenient = _more(options), text(options, "table.field.additional.missing").lower() == "ignore"
    fatal = text(options, "table.op.invalid.behavior").lower() == "fatal"
    expand, empties = (
        options.get(name) is True for name in ("table.expand.json.payload", "route.tombstone.on.empty.payload")
    )
    wraps = any(one.place == "envelope" for one in more)

    def apply(record: Record) -> bool | None:
        event = change_event(record)
        if event is None:
            return None if record.value is not None else False
        operation = text_of(event["op"])
        if operation == "u" and fatal:
            raise DataError("the row of an outbox was updated, which table.op.invalid.behavior=fatal refuses")
        if operation in ("u", "d"):
            return False
        row = state(event, "after")
        if row is None:
            raise DataError(f"after is null in an event with op={operation}")
        payload = _column(row, payload_, "the payload")
        record.headers.append(("id", _column(row, id_, "the event's id")))
        own = _time(_column(row, time_, "the event's time"), time_) if time_ else None
        record.timestamp = _event_time(event, record.timestamp) if own is None else own
        record.topic = rename(field_text(row, route, f"{route}, which gives the topic,"))
        value: Json | None = None if is_null(payload) else payload
        is_empty = value is None or not text_of(payload).strip()
        if expand and value is not None:
            value = _expanded(value)
        wrapped: Members = {"payload": payload if value is None else value}
        for one in more:
            if one.column not in row:
                if lenient:
                    continue
                raise DataError(f"the row has no {one.column}, which table.fields.additional.placement names")
            if one.place == "envelope":
                wrapped[one.name] = row[one.column]
            elif one.place == "header":
                record.headers.append((one.name, row[one.column]))
        record.value_schema = UNNAMED
        record.value = None if is_empty and empties else wrapped if wraps else value
        return None

    return apply


def _column(row: Members, name: str, what: str) -> Json:
    if name not in row:
        raise DataError(f"the row has no {name}, which is {what}")
    return row[name]


def _time(value: Json, name: str) -> int | None:
    if is_null(value):
        return None
    unit = _PER_MILLISECOND.get(value.type.origin) if isinstance(value, Typed) and isinstance(value.type, Scalar) else 1
    if unit is None:
        raise DataError(f"{name} is no timestamp without a zone, which table.field.event.timestamp needs")
    return _whole(value, name) // unit


def _event_time(event: Members, otherwise: int) -> int:
    value = event.get("ts_ms")
    return otherwise if value is None or is_null(value) else _whole(value, "ts_ms")


def _whole(value: Json, name: str) -> int:
    try:
        return msgspec.json.decode(raw_bytes(value), type=int)
    except msgspec.MsgspecError:
        raise DataError(f"{name} is no whole number") from None


def _expanded(payload: Json) -> Json:
    """Read a text as the object or array that it is; any other value stays as it is."""
    raw = raw_bytes(payload)
    if raw[:1] != b'"':
        return payload
    inner = text_of(payload).encode()
    if inner[:1] not in (b"{", b"["):
        return payload
    try:
        msgspec.json.decode(inner)
    except (msgspec.DecodeError, RecursionError):
        return payload
    return Raw(inner)


def _check(prefix: str, options: Options) -> Problems:
    name = "table.fields.additional.placement"
    for entry in items(options, name):
        column, *rest = (part.strip() for part in entry.split(":"))
        if not column or len(rest) not in (1, 2) or rest[0].lower() not in _PLACES:
            reason = f"{entry} is not column:place or column:place:name, with a place of {', '.join(_PLACES)}"
            yield name, invalid_value(prefix + name, options[name], reason)
    yield from check_replacement("route.topic.regex", "route.topic.replacement")(prefix, options)


def _name(name: str, what: str, default: str | None, **more: str) -> Key:
    return Key(name, "STRING", f"Column of the outbox with {what}.", default=default, importance="LOW", **more)  # type: ignore[arg-type]


EVENT_ROUTER = Transformation(
    name="EventRouter",
    documentation="Debezium: takes the message out of a row of an outbox table, and gives it the topic of its "
    "aggregate. Drops updates, deletes and tombstones.",
    keys=(
        _name("table.field.event.id", "the id of the event, which becomes the header id", "id"),
        _name("table.field.event.key", "the key", "aggregateid", no_effect="keys are not stored"),
        _name("table.field.event.payload", "the message", "payload"),
        _name("table.field.event.timestamp", "the record's time; that of the event without it", None),
        _name("table.field.event.type", "the type", "type", no_effect="a column goes with table.fields.additional"),
        _name("table.field.event.schema.version", "the version of a schema", None, no_effect="versions are not stored"),
        Key(
            "table.fields.additional.placement",
            "LIST",
            "Further columns: column:header or column:envelope, and :name. With envelope the message is in payload.",
            default=(),
            importance="HIGH",
        ),
        Key(
            "table.field.additional.missing",
            "STRING",
            "error or ignore, for a row without one of them.",
            default="error",
            validator=one_of_any_case("error", "ignore"),
        ),
        Key(
            "table.op.invalid.behavior",
            "STRING",
            "warn, error or fatal, for a row that is updated; fatal makes it a bad record, the others leave it out.",
            default="warn",
            validator=one_of_any_case("warn", "error", "fatal"),
        ),
        Key(
            "table.expand.json.payload",
            "BOOLEAN",
            "Whether a message that is JSON in a text becomes fields.",
            default=False,
        ),
        *(
            Key(
                f"table.json.payload.{name}.behavior",
                "STRING",
                f"What becomes of {name.replace('.', ' ')}.",
                default="ignore",
                no_effect="a null is a null, and an empty array is one",
            )
            for name in ("null", "empty.array")
        ),
        Key("route.by.field", "STRING", "Column that gives the topic.", default="aggregatetype", importance="HIGH"),
        Key(
            "route.topic.regex",
            "STRING",
            "Regular expression for its text.",
            default="(?<routedByValue>.*)",
            importance="LOW",
            validator=linear_java_regular_expression,
        ),
        Key(
            "route.topic.replacement",
            "STRING",
            "Name of the topic; ${name} is a group.",
            default="outbox.event.${routedByValue}",
            importance="HIGH",
        ),
        Key(
            "route.tombstone.on.empty.payload",
            "BOOLEAN",
            "Whether an empty message becomes a tombstone.",
            default=False,
            importance="HIGH",
        ),
    ),
    packages=("io.debezium.transforms.outbox",),
    check=_check,
    build=_build,
)
