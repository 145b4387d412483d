"""Types of new columns as a configuration writes them: an Iceberg type, `map`, `json` or `ignore`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from frazil.declare.definition import Parsed, invalid_value
from frazil.declare.placeholders import has_placeholder
from frazil.text.field_path import field_path

ScalarName = Literal[
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "string",
    "uuid",
    "binary",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "timestamp_ns",
    "timestamptz_ns",
]
Kind = ScalarName | Literal["decimal", "fixed", "list", "map", "struct"]

_FAMILY = "frazil.schema.path.*"
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[<>(),:\[\]]|$)")
_MAX_PRECISION = 38
_LONGEST_FIXED = 1 << 20
_MAX_DEPTH = 32


@dataclass(frozen=True)
class ColumnType:
    """A parsed type.

    `numbers` are precision and scale of a decimal, or the length of a fixed; `members` the types inside, by name.
    """

    kind: Kind
    numbers: tuple[int, ...] = ()
    members: tuple[tuple[str, ColumnType], ...] = ()


_STRING = ColumnType("string")
_SHORT = {
    "json": _STRING,
    "map": ColumnType("map", members=(("key", _STRING), ("value", _STRING))),
    "ignore": None,
}


def column_type(text: str) -> ColumnType | None:
    """Parse a type; None for `ignore`. Raises ValueError, with the reason, for a text that is no type."""
    short = text.strip().lower()
    if short in _SHORT:
        return _SHORT[short]
    reader = _Reader(text)
    found = reader.type(0)
    reader.expect("")
    return found


def check_column_types(parsed: Parsed) -> None:
    """Add errors for wrong paths and types, and a warning where no new columns are made."""
    for path, text in parsed.members(_FAMILY).items():
        name = _FAMILY.replace("*", path)
        try:
            if not all(field_path(path, "V2")):
                raise ValueError("the path has an empty name")
            if not has_placeholder(text):
                column_type(text)
        except ValueError as error:
            parsed.fail(name, invalid_value(name, text, str(error)))
        if not any(parsed.flag(f"iceberg.tables.{key}-enabled") for key in ("evolve-schema", "auto-create")):
            parsed.warn(
                f"{name} has no effect here: it is for new columns, and iceberg.tables.evolve-schema-enabled is false"
            )


def column_types(parsed: Parsed) -> Mapping[tuple[str, ...], ColumnType | None]:
    """Read the types by path from a checked configuration; None for paths that never become columns."""
    return {field_path(path, "V2"): column_type(text) for path, text in parsed.members(_FAMILY).items()}


class _Reader:
    """Reads one type from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def type(self, depth: int) -> ColumnType:
        if depth > _MAX_DEPTH:
            raise ValueError("the type is nested too deeply")
        name = self._next().lower()
        if name == "decimal":
            precision, scale = self._numbers("(", 2, ")")
            if not 1 <= precision <= _MAX_PRECISION or scale > precision:
                raise ValueError(f"decimal({precision},{scale}) needs a precision of 1 to 38 and no larger scale")
            return ColumnType("decimal", (precision, scale))
        if name == "fixed":
            square = self._peek() == "["
            (length,) = self._numbers("[" if square else "(", 1, "]" if square else ")")
            if not 1 <= length <= _LONGEST_FIXED:
                raise ValueError(f"fixed({length}) needs a length of 1 to {_LONGEST_FIXED}")
            return ColumnType("fixed", (length,))
        if name == "list":
            self.expect("<")
            element = self.type(depth + 1)
            self.expect(">")
            return ColumnType("list", members=(("element", element),))
        if name == "map":
            self.expect("<")
            key = self.type(depth + 1)
            self.expect(",")
            value = self.type(depth + 1)
            self.expect(">")
            return ColumnType("map", members=(("key", key), ("value", value)))
        if name == "struct":
            return self._struct(depth)
        for scalar in get_args(ScalarName):
            if scalar == name:
                return ColumnType(scalar)
        raise ValueError(f"there is no type {name or 'here'}: write an Iceberg type, map, json or ignore")

    def _struct(self, depth: int) -> ColumnType:
        members: dict[str, ColumnType] = {}
        self.expect("<")
        while True:
            name = self._next()
            if not re.fullmatch(r"\w+", name) or name in members:
                raise ValueError(f"a member of a struct is written name: type, each name once; here it is {name!r}")
            self.expect(":")
            members[name] = self.type(depth + 1)
            if self._peek() != ",":
                self.expect(">")
                return ColumnType("struct", members=tuple(members.items()))
            self.expect(",")

    def _numbers(self, opening: str, count: int, closing: str) -> list[int]:
        self.expect(opening)
        numbers: list[int] = []
        for position in range(count):
            if position:
                self.expect(",")
            text = self._next()
            if not text.isdecimal() or len(text) > 9:
                raise ValueError(f"expected a number, got {text!r}")
            numbers.append(int(text))
        self.expect(closing)
        return numbers

    def _peek(self) -> str:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise ValueError(f"{self._text[self._at :]!r} is no part of a type")
        return match[1]

    def _next(self) -> str:
        token = self._peek()
        match = _TOKEN.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return token

    def expect(self, token: str) -> None:
        """Go past a token. Raises ValueError for another one; the empty one is the end."""
        found = self._next()
        if found != token:
            raise ValueError(
                f"expected {repr(token) if token else 'the end'}, got {repr(found) if found else 'the end'}"
            )
