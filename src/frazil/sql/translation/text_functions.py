"""Functions of text that the embedded engine has no counterpart for, over Arrow arrays."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb


def json_parse(written: str) -> str:
    """JSON in Trino's one form: members by name, the last of equal names, numbers with a point as doubles."""
    try:
        return _json(json.loads(written, parse_constant=_refuse))
    except RecursionError:
        raise ValueError(f"Cannot convert value to JSON: '{written[:100]}' (it is nested too deeply)") from None
    except ValueError as error:
        raise ValueError(f"Cannot convert value to JSON: '{written[:100]}' ({error})") from None


class _Members(list[tuple[str, Any]]):
    """The members of a JSON object as they are written, equal names among them."""


def _json(value: Any) -> str:
    if isinstance(value, dict):
        value = _Members((name, value[name]) for name in sorted(value))
    if isinstance(value, _Members):
        return "{" + ",".join(f"{_json(name)}:{_json(item)}" for name, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    if isinstance(value, float):
        # as Java writes a double
        value = float(value)
        plain = value == 0 or 1e-3 <= abs(value) < 1e7
        return format(Decimal(repr(value)), "f") if plain else double_text(value)
    written = json.dumps(value, ensure_ascii=False)
    # Java writes what is beyond two bytes as a pair of escapes
    return _BEYOND.sub(lambda pair: json.dumps(pair[0]).strip('"').upper().replace("\\U", "\\u"), written)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


class _Written(float):
    """A JSON number with a point, which keeps its digits."""

    text = ""


def _number(written: str) -> _Written:
    made = _Written(written)
    made.text = written
    return made


_BEYOND = re.compile("[\U00010000-\U0010ffff]")
_MISSING = object()
_STEP = re.compile(r"""\.([A-Za-z_][\w-]*)|\[(\d+)\]|\[["']([^"']*)["']\]""")


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[str | int, ...]:
    return tuple(int(match[2]) if match[2] else match[1] or match[3] or "" for match in _STEP.finditer(path))


def _at(written: str, path: str) -> Any:
    """The value at a path such as `$.a[0]["b c"]`; _MISSING where there is none or the text is no JSON."""
    try:
        value = json.loads(written, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_Members)
    except (ValueError, RecursionError):
        return _MISSING
    for step in _steps(path):
        if isinstance(step, str):
            members = value if isinstance(value, _Members) else ()
            value = next((item for name, item in members if name == step), _MISSING)
        elif isinstance(value, list) and not isinstance(value, _Members) and step < len(value):
            value = value[step]
        else:
            return _MISSING
        if value is _MISSING:
            return _MISSING
    return value


def json_extract(written: str, path: str) -> str | None:
    """The JSON at a path; None where there is none, or one that is nested too deeply."""
    value = _at(written, path)
    try:
        return None if value is _MISSING else _json(value)
    except RecursionError:
        return None


def json_extract_scalar(written: str, path: str) -> str | None:
    """The text, number or boolean at a path as it is written; None for anything else."""
    value = _at(written, path)
    if value is _MISSING or value is None or isinstance(value, list):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.text if isinstance(value, _Written) else str(value)


def double_text(value: float) -> str:
    """A double as Trino's CAST writes it: `1.5E0`, `Infinity`."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0E0" if math.copysign(1, value) < 0 else "0E0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    written = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) - 1 + int(exponent) if value else 0
    return f"{'-' if sign else ''}{written[0]}.{written[1:] or '0'}E{power}"


def error(message: str) -> str:
    """End the statement with this message."""
    raise ValueError(message)


#: By name, with the number of their arguments; double_text takes a number, all others text.
FUNCTIONS: dict[str, tuple[Callable[..., str | None], int]] = {
    "double_text": (double_text, 1),
    "error": (error, 1),
    "json_extract": (json_extract, 2),
    "json_extract_scalar": (json_extract_scalar, 2),
    "json_parse": (json_parse, 1),
}


def register(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Give a connection one of FUNCTIONS under the name `frazil_...`."""
    from duckdb.func import FunctionNullHandling, PythonUDFType

    function, arguments = FUNCTIONS[name.removeprefix("frazil_")]
    made: Any = _arrow(function, arguments)
    kinds: list[Any] = ["DOUBLE" if function is double_text else "VARCHAR"] * arguments
    connection.create_function(
        name, made, kinds, "VARCHAR", type=PythonUDFType.ARROW, null_handling=FunctionNullHandling.SPECIAL
    )


def _unicode(text: str | None) -> str | None:
    """Text with a `?` for half a surrogate, as Java encodes it: JSON has one in `"\\ud800"`, and no column can."""
    return text if text is None or text.isascii() else text.encode(errors="replace").decode()


def _arrow(function: Callable[..., str | None], arguments: int) -> Callable[..., pa.Array]:
    def over(*columns: pa.ChunkedArray) -> pa.Array:
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return pa.array([None if None in row else _unicode(function(*row)) for row in rows], pa.string())

    # the engine counts the parameters
    return (lambda one: over(one)) if arguments == 1 else lambda one, two: over(one, two)
