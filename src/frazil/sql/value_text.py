"""Values of answers as JSON and as text."""

import json
import math
import re
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

import msgspec

# Delete, the C1 controls, line separators, and what turns the direction of writing: inside strings only, as JSON goes.
_CONTROLS = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_HEX_WIDTH = 16


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: what has no JSON type becomes text, and a float without a number too (`NaN`)."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(json_value(key)): json_value(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: json_value(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON text of a value that has JSON's types; what a terminal would obey is escaped, other characters stay.

    Raises ValueError for a number that JSON has not.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def text_of(value: Any) -> str:
    """A value in one field: plain text, and JSON for what is nested."""
    plain = json_value(value)
    if isinstance(plain, str):
        return plain
    return json.dumps(plain, ensure_ascii=False, separators=(", ", ": "))


def printable(text: str, keep: str = "") -> str:
    """Text that cannot steer a terminal: control characters become escapes, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """Make text of several lines printable: line ends and tabs stay."""
    return printable(text, keep="\n\t")


def byte_lines(data: bytes) -> Sequence[str]:
    """JSON in lines, other text as it is with what is no UTF-8 escaped, and anything else in hexadecimal with its
    letters beside it; printable."""
    try:
        return [printable(line) for line in msgspec.json.format(data, indent=2).decode().splitlines()]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        text = data.decode(errors="backslashreplace")
    if b"\x00" not in data and sum(c.isprintable() or c.isspace() for c in text) >= 0.9 * len(text):
        return [printable(line) for line in text.splitlines()] or [""]
    width = 3 * min(len(data), _HEX_WIDTH) - 1
    return [_hex_line(start, data[start : start + _HEX_WIDTH], width) for start in range(0, len(data), _HEX_WIDTH)]


def _hex_line(start: int, part: bytes, width: int) -> str:
    letters = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
    return f"{start:08x}  {part.hex(' '):<{width}}  {letters}"


def unique_names(columns: tuple[str, ...]) -> list[str]:
    """Column names of which none occurs twice: one that occurs again gets a number (`name_2`)."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names
