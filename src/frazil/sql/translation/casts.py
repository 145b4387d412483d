"""CAST as Trino reads and writes values."""

import re
from dataclasses import replace

from sqlglot import exp

from frazil.errors import QueryError
from frazil.sql.translation.types import BOOLEAN, DATE, JSON, VARCHAR, Type, common_type, parse_type, text
from frazil.sql.translation.value import Value, coerce, instant, local, refuse

_KNOWN = {"boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "decimal", "varchar", "varbinary"}
_KNOWN |= {"date", "timestamp", "timestamptz", "json", "array", "map"}
_AS_JSON = ("varchar", "boolean", "integer", "bigint", "double", "json")


def type_of(written: exp.DataType) -> Type:
    """The type that a statement names. Raises QueryError for one that is not known."""
    spelling = re.sub(r"decimal\b(?!\()", "decimal(38)", written.sql("trino", comments=False).lower())
    kind = parse_type(re.sub(r"timestamp\b(?!\()", "timestamp(3)", spelling))
    known = len(kind.args) == {"array": 1, "map": 2}.get(kind.name, 0)
    if not known or any(one.name not in _KNOWN or (one.is_moment and one.precision > 6) for one in (kind, *kind.args)):
        refuse(f"the type {spelling}")
    return kind


def cast(value: Value, wanted: Type, *, safe: bool = False) -> Value:
    """`CAST(value AS wanted)`, and with `safe` TRY_CAST: null instead of an error.

    Raises QueryError where Trino has no such cast, or the embedded engine would write the value otherwise.
    """
    if wanted.name == "varchar" and wanted.precision:
        shortened = cast(value, VARCHAR, safe=safe)
        return shortened.written(f"left({shortened.sql}, {wanted.precision})", VARCHAR)
    if value.type.name == wanted.name == "timestamptz":
        wanted = replace(wanted, zone=value.type.zone)
    if value.type == wanted:
        return value
    sql = _cast(value, wanted)
    return value.written(f"TRY({sql})" if safe else sql, wanted)


def _cast(value: Value, wanted: Type) -> str:
    given, sql = value.type, value.sql
    plain = f"CAST({sql} AS {wanted.duckdb})"
    if given.name == "unknown":
        return plain
    if wanted == VARCHAR:
        return _as_text(value)
    if given.name == "varchar":
        return _from_text(sql, wanted)
    if given.is_floating and wanted.is_integer:
        return f"CAST(frazil_round({sql}) AS {wanted.duckdb})"
    if given.is_floating and wanted.name == "decimal":
        # rounded as it is written, not as it is stored
        return f"CAST(CAST({sql} AS VARCHAR) AS {wanted.duckdb})"
    if (given.is_number or given == BOOLEAN) and (wanted.is_number or wanted == BOOLEAN):
        return plain
    if wanted == DATE and given.is_moment:
        return f"CAST({local(value)} AS DATE)"
    if wanted.is_moment and given == DATE:
        return coerce(value, wanted).sql
    if wanted.is_moment and given.is_moment:
        return _moment(value, wanted)
    if given == JSON and (wanted.name in _AS_JSON or wanted.name == "array"):
        return _from_json(sql, wanted)
    if given.args and given.name == wanted.name != "row" and common_type(given, wanted) == wanted:
        return plain
    return refuse(f"CAST from {given} to {wanted}")


def _from_json(sql: str, wanted: Type) -> str:
    """Text of a JSON value in another type; a text cannot be an array or an object."""
    if wanted in (JSON, VARCHAR):
        return f"CAST({sql} AS VARCHAR)" if wanted == JSON else f"frazil_json_text(CAST({sql} AS VARCHAR))"
    if wanted.name == "array" and (wanted.args[0].name in _AS_JSON):
        return f"list_transform(CAST(CAST({sql} AS JSON) AS JSON[]), lambda e: {_from_json('e', wanted.args[0])})"
    if wanted.args:
        refuse(f"CAST from json to {wanted}")
    return f"CAST(CAST({sql} AS JSON) AS {wanted.duckdb})"


def _as_text(value: Value) -> str:
    given, sql = value.type, value.sql
    if given.name == "decimal" and given.precision == given.scale:
        return f"regexp_replace(CAST({sql} AS VARCHAR), '^(-?)[.]', '\\10.')"
    if given.is_integer or given.name in ("boolean", "decimal", "date"):
        return f"CAST({sql} AS VARCHAR)"
    if given.name == "double":
        return f"frazil_double_text({sql})"
    if given.is_moment:
        return clock_text(value, " ", f" {given.zone}" if given.name == "timestamptz" else "")
    if given == JSON:
        return f"frazil_json_text({sql})"
    return refuse(f"CAST from {given} to varchar")


def clock_text(value: Value, middle: str, end: str) -> str:
    """Text for a moment as its clock shows it, `middle` between day and time and `end` behind it."""
    clock, digits = local(value), value.type.precision
    fraction = f" || '.' || left(strftime({clock}, '%f'), {digits})" if digits else ""
    return f"(strftime({clock}, '%Y-%m-%d{middle}%H:%M:%S'){fraction} || {text(end)})"


def _from_text(sql: str, wanted: Type) -> str:
    if wanted.is_moment:
        moved = rounded(f"frazil_text_moment({sql})", 6, wanted.precision)
        return instant(moved, "UTC") if wanted.name == "timestamptz" else moved
    kinds = {"double": "floating", "real": "floating", "decimal": "number", "boolean": "boolean", "date": "date"}
    kind = "whole" if wanted.is_integer else kinds.get(wanted.name) or refuse(f"CAST from varchar to {wanted}")
    return f"CAST(frazil_{kind}_text({sql}, {text(wanted.name)}) AS {wanted.duckdb})"


def _moment(value: Value, wanted: Type) -> str:
    given = value.type
    if given.name == "timestamptz" and wanted.name == "timestamptz":
        # the moment is rounded, since the clock shows some hours twice
        utc = rounded(f"make_timestamp(epoch_us({value.sql}))", given.precision, wanted.precision)
        return value.sql if wanted.precision >= given.precision else instant(utc, "UTC")
    clock = rounded(local(value), given.precision, wanted.precision)
    return clock if wanted.name == "timestamp" else instant(clock, "UTC")


def rounded(clock: str, digits: int, wanted: int) -> str:
    """A time with so many digits of a second, rounded to fewer where fewer are wanted."""
    step = 10 ** (6 - min(wanted, 6))
    if wanted >= digits or step == 1:
        return clock
    return f"make_timestamp(((epoch_us({clock}) + {step // 2}) // {step}) * {step})"


def check_json(value: Value) -> Value:
    """JSON, or a text that holds it. Raises QueryError for any other type."""
    if value.type.name not in ("json", "varchar", "unknown"):
        raise QueryError(f"a JSON text is needed, not {value.type}")
    return value
