"""ChangeEvents: records that tell of changes in a database, as the rows that they give, with the change in `_cdc`.

It stands before a connector's transformations when `frazil.cdc.format` is set; no configuration has to name it.
"""

from datetime import UTC, datetime, timedelta

from frazil.declare.definition import Key
from frazil.declare.validators import one_of
from frazil.pipeline.transforms.following import Following, beside
from frazil.pipeline.transforms.formats.change import Change
from frazil.pipeline.transforms.formats.registry import FORMATS, formats_of
from frazil.pipeline.transforms.plugin import (
    CHANGE_OP,
    CHANGE_POSITION,
    CHANGE_TS,
    CHANGES,
    CURRENT,
    DELETE_POSITION,
    OPERATION,
    READ,
    VALID_FROM,
    VALID_TO,
    Options,
    Transformation,
    text,
)
from frazil.pipeline.transforms.record import (
    NULL,
    UNNAMED,
    Apply,
    DataError,
    Json,
    Members,
    Part,
    Record,
    is_null,
    members,
    quoted,
    text_of,
)

NAMES = ("none", "auto", *FORMATS)
_COLUMNS = {CHANGE_OP, CHANGE_TS, CHANGE_POSITION, VALID_FROM, VALID_TO, CURRENT, DELETE_POSITION}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _build(options: Options, part: Part) -> Apply:
    """Events about no row are dropped."""
    name = text(options, "format")
    formats, following, kept = formats_of(name), Following(options), options.get(CHANGES) is True

    def apply(record: Record) -> bool | None:
        event = members(record, "value")
        if event is None:
            return None
        format_ = next((one for one in formats if one.is_event(event)), None)
        if format_ is None:
            if name == "auto":
                return None
            reason = "Set frazil.cdc.format=auto for topics with other records too"
            raise DataError(f"is no change event as frazil.cdc.format={name} has them. {reason}")
        changes = format_.changes(event, record)
        if not changes:
            return False
        others = [beside(record) for _ in changes[1:]]
        for one, change in zip(others, changes, strict=False):
            _carry_out(one, change, following, kept=kept)
        _carry_out(record, changes[-1], following, kept=kept)
        if others:
            record.others = [made for one in others for made in (*one.others, one)] + record.others
        return None

    return apply


def _carry_out(record: Record, change: Change, following: Following, *, kept: bool) -> None:
    told: Members = {
        "op": quoted(change.operation),
        "ts": change.ts,
        "source": quoted(change.source),
        "position": NULL if change.position is None else change.position,
    }
    if change.operation == "T":
        following.truncate(record, told)
        return
    record.value_schema = UNNAMED
    record.value = row = change.row | {OPERATION[0]: told}
    if kept:
        if taken := _COLUMNS & row.keys():
            raise DataError(f"has the column {min(taken)}, which the tables with frazil.cdc.mode have for themselves")
        row |= {CHANGE_OP: quoted(READ if change.read else change.operation), CHANGE_TS: _instant(change.at)}
    if change.operation == "U":
        following.update(record, row, change.before, change.key)
    elif change.operation == "D" and change.partial:
        following.untold(row)


def _instant(at: Json) -> Json:
    """Write a moment in epoch milliseconds as a text."""
    if is_null(at):
        return NULL
    moment = _EPOCH + timedelta(milliseconds=int(text_of(at)))
    return quoted(moment.isoformat())


CHANGE_EVENTS = Transformation(
    name="ChangeEvents",
    documentation="Change events: puts the fields of the row at the top, and op, ts, source and position into _cdc. "
    "Drops heartbeats and other records about no row.",
    keys=(
        Key(
            "format",
            "STRING",
            "Which records are change events.",
            default="debezium",
            validator=one_of("auto", *FORMATS),
        ),
    ),
    packages=("frazil",),
    build=_build,
    writes_operation=True,
    makes_types=lambda options: any(one.makes_types for one in formats_of(text(options, "format"))),
    reads_keys=lambda options: any(one.reads_keys for one in formats_of(text(options, "format"))),
)
