"""Translated expressions: text of the embedded engine with its type in Trino."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from sqlglot import exp

from frazil.errors import QueryError
from frazil.sql.translation.types import Type, coercible, text

OTHER_ENGINE = "ask Trino with --engine trino"


@dataclass(frozen=True)
class Value:
    """Expression with its type.

    `constant` means that it reads nothing and is the same for every row. `column` is set where the expression is
    nothing but a column or a field inside it at `path`, `aggregate` where an aggregate or window function is in it.
    """

    sql: str
    type: Type
    constant: bool = False
    column: exp.Column | None = None
    path: tuple[str, ...] = ()
    aggregate: bool = False

    def written(self, sql: str, kind: Type) -> Value:
        """Write another expression of this one alone."""
        return replace(self, sql=sql, type=kind, column=None, path=())

    def __deepcopy__(self, memo: Any) -> Value:
        return self


def combine(sql: str, kind: Type, parts: Iterable[Value], *, constant: bool = True) -> Value:
    """An expression made from others."""
    found = list(parts)
    steady = constant and all(part.constant for part in found)
    return Value(sql, kind, steady, aggregate=any(part.aggregate for part in found))


def refuse(what: str) -> NoReturn:
    """Raise QueryError for what only Trino answers."""
    raise QueryError(f"the embedded engine does not answer {what}; {OTHER_ENGINE}")


def ambiguous(name: str, meant: Iterable[str]) -> NoReturn:
    """Raise QueryError for a name that means several columns or fields."""
    found = " or ".join(dict.fromkeys(meant))
    if found == name:
        raise QueryError(f"column {name} is ambiguous; write its table before it")
    raise QueryError(f"{name} is ambiguous: it is {found}; write it exactly so, in double quotes")


def coerce(value: Value, wanted: Type) -> Value:
    """A value in a type that Trino turns it into without a CAST; its text is the same where the engine needs none."""
    if value.type == wanted or not coercible(value.type, wanted):
        return value
    if value.type.duckdb == wanted.duckdb and value.type.name != "unknown":
        return replace(value, type=wanted)
    if wanted.name == "timestamptz" and value.type.name in ("timestamp", "date"):
        # the clock of the session, which is UTC
        return value.written(instant(f"CAST({value.sql} AS TIMESTAMP)", "UTC"), wanted)
    return value.written(f"CAST({value.sql} AS {wanted.duckdb})", wanted)


def offset_minutes(zone: str) -> int | None:
    """Minutes of UTC or a zone that is written as an offset, like `+02:00`; None for any other."""
    if zone[:1] not in ("+", "-"):
        return 0 if zone == "UTC" else None
    hours, _, minutes = zone[1:].partition(":")
    return (int(hours) * 60 + int(minutes or 0)) * (-1 if zone[0] == "-" else 1)


def local(value: Value) -> str:
    """Text for the time that a clock shows in the zone of a value; that of a type without zone as it is."""
    if value.type.name != "timestamptz":
        return value.sql
    minutes = offset_minutes(value.type.zone)
    if minutes is None:
        return f"timezone({text(value.type.zone)}, {value.sql})"
    return f"make_timestamp(epoch_us({value.sql}){f' + {minutes * 60_000_000}' if minutes else ''})"


def instant(clock: str, zone: str) -> str:
    """Text for the moment at which a clock in the zone shows this time."""
    minutes = offset_minutes(zone)
    if minutes is None:
        return f"timezone({text(zone)}, {clock})"
    return f"make_timestamptz(epoch_us({clock}){f' - {minutes * 60_000_000}' if minutes else ''})"


def back(clock: str, value: Value) -> str:
    """Text for a clock's time as a value of the type of `value`, with or without zone."""
    return instant(clock, value.type.zone) if value.type.name == "timestamptz" else clock
