"""Times among the members of records: those that a schema tells, and those that transformations wrote."""

from frazil.pipeline.convert import origins, scalars, temporal
from frazil.pipeline.transforms.record import Json, raw_bytes, string
from frazil.pipeline.types import Scalar, Typed

DATE, TIME, TIMESTAMP = Scalar("date"), Scalar("time"), Scalar("timestamptz")
"""Types of times that transformations write as text."""


def told_nanos(value: Json) -> int | None:
    """Read a time as nanoseconds since midnight or 1970-01-01T00:00Z; None for what is no time by its type."""
    if not isinstance(value, Typed):
        return None
    raw = raw_bytes(value)
    nanos = origins.instant(value.type, raw)
    if nanos is not None or value.type not in (DATE, TIME, TIMESTAMP) or scalars.kind_of(raw) != "text":
        return nanos
    given = string(raw)
    if value.type == DATE:
        return temporal.date_to_days(given) * temporal.NANOS_PER_DAY
    if value.type == TIME:
        return temporal.time_to_micros(given) * 1000
    return temporal.timestamp_to_nanos(given, apply_offset=True)
