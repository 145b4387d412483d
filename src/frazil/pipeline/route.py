"""Routes of records to tables: the rule of a connector, and its application to values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from frazil.pipeline.convert import scalars
from frazil.pipeline.convert.strict import ConversionError, is_nothing, parse_object
from frazil.text.java_regex import compile_java

TOPIC = "{topic}"
"""Placeholder of the topic's name in `frazil.tables.topic-pattern`."""

ALLOWED = "frazil.tables.allowed"
"""Configuration key of the tables that records may name."""

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f/\\?#%\"`]")
_LONGEST_NAME = 255
_CACHED = 10_000
CARE = (msgspec.MsgspecError, ValueError, RecursionError)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True)
class Route:
    """The rule that finds the tables of a record; without one every record goes to every table.

    `path` leads to the value that decides, `topic_pattern` makes a name of the topic instead. `dynamic`: the value is
    the table's name; else a record goes to the tables of `regexes` whose Java regular expression matches all of it.
    Tables that records name are those whose whole name the Java regular expression `allowed` matches; empty for all.
    """

    path: tuple[str, ...] = ()
    regexes: tuple[tuple[str, str], ...] = ()
    dynamic: bool = False
    topic_pattern: str = ""
    allowed: str = ""

    @property
    def names_tables(self) -> bool:
        """Whether records name tables of their own."""
        return self.dynamic or bool(self.topic_pattern)


def table_name_problem(name: str) -> str | None:
    """Say why a text, as a record may bring any, cannot be the name of a table; None when it can."""
    levels = name.split(".")
    if len(levels) < 2 or not all(levels):
        return "it is not written namespace.table"
    if _FORBIDDEN.search(name) or ".." in name:
        return "it has characters that a table's name cannot have"
    if len(name) > _LONGEST_NAME:
        return f"it is longer than {_LONGEST_NAME} characters"
    return None


@dataclass
class Assigned:
    """Indexes of values by the table that they go to, which may be several, and of those that go to none."""

    tables: dict[str, list[int]] = field(default_factory=dict)
    unrouted: list[int] = field(default_factory=list)
    tombstones: list[int] = field(default_factory=list)
    failed: list[tuple[int, ConversionError]] = field(default_factory=list)


@lru_cache(maxsize=16)
def router(route: Route) -> Router:
    """Give the router for a rule; equal rules share one in a Python worker."""
    return Router(route)


class Router:
    """Applies the rule of one connector."""

    def __init__(self, route: Route) -> None:
        self.rule = route
        self._patterns = [(table, compile_java(regex)) for table, regex in route.regexes]
        self._allowed = compile_java(route.allowed) if route.allowed else None
        self._field = field_reader(route.path)
        self._known: dict[str | bytes, tuple[str, ...] | ConversionError] = {}

    def assign(self, values: Sequence[bytes | None], topics: Callable[[], Sequence[str]]) -> Assigned:
        """Find the tables of values. `topics` gives the topic of each; it is called only where the rule needs them."""
        return self._by_topic(topics()) if self.rule.topic_pattern else self._by_field(values)

    def _by_topic(self, topics: Sequence[str]) -> Assigned:
        result = Assigned()
        for index, topic in enumerate(topics):
            self._put(index, topic, result, self._tables_of_topic)
        return result

    def _by_field(self, values: Sequence[bytes | None]) -> Assigned:
        result = Assigned()
        for index, value in enumerate(values):
            if value is None:
                result.tombstones.append(index)
                continue
            try:
                try:
                    found = self._field(value)
                except CARE:
                    if is_nothing(value):
                        result.tombstones.append(index)
                        continue
                    found = walk(value, self.rule.path, "the route field")
            except ConversionError as error:
                result.failed.append((index, error))
                continue
            if found is None:
                result.unrouted.append(index)
            else:
                self._put(index, found, result, self._tables_of_value)
        return result

    def _put(
        self, index: int, key: Any, result: Assigned, find: Callable[[Any], tuple[str, ...] | ConversionError]
    ) -> None:
        tables = self._known.get(key)
        if tables is None:
            if len(self._known) >= _CACHED:
                self._known.clear()
            tables = find(key)
            if len(key) <= _LONGEST_NAME:
                self._known[key] = tables
        if isinstance(tables, ConversionError):
            result.failed.append((index, tables))
        elif not tables:
            result.unrouted.append(index)
        for table in () if isinstance(tables, ConversionError) else tables:
            result.tables.setdefault(table, []).append(index)

    def _tables_of_value(self, raw: bytes) -> tuple[str, ...] | ConversionError:
        """Find the tables of a value: a text counts as it is, any other value as its JSON text, null as none."""
        try:
            text = _text(raw) if raw[:1] == b'"' else raw.decode()
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return ConversionError(".".join(self.rule.path), f"the text is not valid: {error}")
        if raw == b"null":
            return ()
        if self.rule.dynamic:
            return self._named(text, ".".join(self.rule.path))
        return tuple(table for table, pattern in self._patterns if pattern.matches(text))

    def _tables_of_topic(self, topic: str) -> tuple[str, ...] | ConversionError:
        return self._named(self.rule.topic_pattern.replace(TOPIC, topic), "")

    def _named(self, text: str, path: str) -> tuple[str, ...] | ConversionError:
        name = text.lower()
        problem = table_name_problem(name)
        if problem is not None:
            return ConversionError(path, f"{text!r} is not the name of a table: {problem}")
        if self._allowed is not None and not self._allowed.matches(name):
            return ConversionError(path, f"{text!r} is not a table of this connector: {ALLOWED} does not match it")
        return (name,)


def field_reader(path: tuple[str, ...]) -> Callable[[bytes], bytes | None]:
    """Make a function for the JSON text of the value at a path, None where there is none.

    It raises one of CARE for records where the way there leads through something else than objects, and for what is no
    object; `walk` says what is wrong with them.
    """
    if any(c in '"\\' or c < " " for name in path for c in name):
        return lambda value: walk(value, path, "the field")
    kind: Any = msgspec.Raw
    for name in reversed(path):
        member = kind if kind is msgspec.Raw else kind | None
        kind = msgspec.defstruct("Record", [("inner", member, None)], rename={"inner": name}, gc=False)
    decode, depth = msgspec.json.Decoder(kind).decode, len(path)

    def read(value: bytes) -> bytes | None:
        found = decode(value)
        for _ in range(depth):
            found = found.inner
            if found is None:
                return None
        return bytes(found)

    return read


def walk(value: bytes, path: tuple[str, ...], what: str) -> bytes | None:
    """Find the value at a path in any record. Raises ConversionError, which names `what`, where none leads to it."""
    members: Mapping[str, msgspec.Raw] = parse_object(value)
    for depth, name in enumerate(path, 1):
        raw = bytes(members.get(name, b"null"))
        if raw == b"null":
            return None
        if depth == len(path):
            return raw
        if raw[:1] != b"{":
            reason = f"Expected a map type, got {scalars.kind_of(raw)}: {what} is {'.'.join(path)}"
            raise ConversionError(".".join(path[:depth]), reason)
        members = _object(raw)
    return None
