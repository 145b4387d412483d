"""Translated expressions: text of the embedded engine with its type in Trino and the columns that it reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from frazil.errors import QueryError
from frazil.query.sql.types import Type, coercible, field_names, quoted, text

if TYPE_CHECKING:
    from frazil.query.sql.relations import Column

#: Number of a scan and path of a column inside its table, like `callInfo.tx`.
Reading = tuple[int, str]

OTHER_ENGINE = "ask Trino with --engine trino"


@dataclass(frozen=True)
class Value:
    """One expression.

    `constant` means that it reads nothing and is the same for every row. `column` is set where the expression is
    nothing but a column, `aggregate` where an aggregate or window function is in it.
    """

    sql: str
    type: Type
    reads: frozenset[Reading] = frozenset()
    constant: bool = False
    column: Column | None = None
    aggregate: bool = False

    def written(self, sql: str, kind: Type) -> Value:
        """Another expression of this one alone."""
        return replace(self, sql=sql, type=kind, column=None)


def combine(sql: str, kind: Type, parts: Iterable[Value], *, constant: bool = True) -> Value:
    """An expression made from others."""
    found = list(parts)
    reads = frozenset[Reading]().union(*(part.reads for part in found))
    steady = constant and all(part.constant for part in found)
    return Value(sql, kind, reads, steady, aggregate=any(part.aggregate for part in found))


def refuse(what: str) -> NoReturn:
    """Raise QueryError for what only Trino answers."""
    raise QueryError(f"the embedded engine does not answer {what}; {OTHER_ENGINE}")


def coerce(value: Value, wanted: Type) -> Value:
    """A value in a type that Trino turns it into without a CAST; its text is the same where the engine needs none."""
    if value.type == wanted or not coercible(value.type, wanted):
        return value
    if value.type.duckdb == wanted.duckdb and value.type.name != "unknown":
        return replace(value, type=wanted)
    if value.type.name == "timestamp" and wanted.name == "timestamptz":
        # the clock of the session, which is UTC
        return value.written(instant(value.sql, "UTC"), wanted)
    if value.type.name == "date" and wanted.name == "timestamptz":
        return value.written(instant(f"CAST({value.sql} AS TIMESTAMP)", "UTC"), wanted)
    return value.written(rebuilt(value.sql, value.type, wanted), wanted)


def rebuilt(sql: str, given: Type, wanted: Type) -> str:
    """Text of a value in another type; the fields of a row go by position, as in Trino, and not by name."""
    if given.duckdb == wanted.duckdb and given.name != "unknown":
        return sql
    if given.name == "row":
        names = zip(field_names(given), given.args, field_names(wanted), wanted.args, strict=True)
        fields = ", ".join(
            f"{quoted(new)} := {rebuilt(f'({sql}).{quoted(old)}', old_kind, new_kind)}"
            for old, old_kind, new, new_kind in names
        )
        return f"(CASE WHEN {sql} IS NULL THEN NULL ELSE struct_pack({fields}) END)"
    if given.name == "array" and given.args[0].args:
        return f"list_transform({sql}, lambda e: {rebuilt('e', given.args[0], wanted.args[0])})"
    return f"CAST({sql} AS {wanted.duckdb})"


def offset_minutes(zone: str) -> int | None:
    """Minutes of a zone that is written as an offset, like `+02:00`; None for any other."""
    if zone[:1] not in ("+", "-"):
        return None
    hours, _, minutes = zone[1:].partition(":")
    return (int(hours) * 60 + int(minutes or 0)) * (-1 if zone[0] == "-" else 1)


def local(value: Value) -> str:
    """Text for the time that a clock shows in the zone of a value; that of a type without zone as it is."""
    if value.type.name != "timestamptz":
        return value.sql
    minutes = 0 if value.type.zone == "UTC" else offset_minutes(value.type.zone)
    if minutes is None:
        return f"timezone({text(value.type.zone)}, {value.sql})"
    shift = f" + {minutes * 60_000_000}" if minutes else ""
    return f"make_timestamp(epoch_us({value.sql}){shift})"


def instant(clock: str, zone: str) -> str:
    """Text for the moment at which a clock in the zone shows this time."""
    minutes = 0 if zone == "UTC" else offset_minutes(zone)
    if minutes is None:
        return f"timezone({text(zone)}, {clock})"
    shift = f" - {minutes * 60_000_000}" if minutes else ""
    return f"make_timestamptz(epoch_us({clock}){shift})"


def back(clock: str, value: Value) -> str:
    """Text for a clock's time as a value of the type of `value`, with or without zone."""
    return instant(clock, value.type.zone) if value.type.name == "timestamptz" else clock
