"""The strict converter: one JSON record, by the table's types, to an exact row or a reason why not.

It reads numbers, and objects that go into string columns, from their source text (iceberg-sink.md 3.2 and 7.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from frazil.pipeline import infer, scalars
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type

Raw = msgspec.Raw
Row = dict[str, Any]
OnUnknown = Callable[[tuple[str, ...], bytes], None]

_object = msgspec.json.Decoder(dict[str, Raw]).decode
_array = msgspec.json.Decoder(list[Raw]).decode
_EXCERPT = 60
_NO_COLUMN = "a field of this name cannot become a column of the table"


class ConversionError(ValueError):
    """A value that a column cannot hold; `path` is the column's, such as `callInfo.rx` or `trace.source[2]`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"column {path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason

    def inside(self, parent: str) -> ConversionError:
        """The same error seen from the column that holds the value."""
        separator = "" if not self.path or self.path.startswith("[") else "."
        return ConversionError(f"{parent}{separator}{self.path}", self.reason)


def parse_object(value: bytes) -> dict[str, Raw]:
    """The members of a record with their source text; the last of two equal names wins.

    Raises ConversionError, with an empty path, for anything that is not one JSON object in UTF-8.
    """
    try:
        value.decode()
        return _object(value)
    except UnicodeDecodeError as error:
        raise ConversionError("", f"the value is not UTF-8 (byte {error.start})") from None
    except RecursionError:
        raise ConversionError("", "the value is nested too deeply") from None
    except msgspec.ValidationError:
        raise ConversionError("", f"the value is not an object but {scalars.kind_of(value.strip())}") from None
    except msgspec.DecodeError as error:
        raise ConversionError(
            "", f"the value is not JSON: {error}" if value.strip() else "the value is empty"
        ) from None


class Converter:
    """Converts records to rows of a table."""

    def __init__(self, struct: Struct, no_more_columns: str = "") -> None:
        """With `no_more_columns`, a reason, members that have no column make a record one that cannot be stored."""
        self._columns = {f.name: (_compile(f.type), f) for f in struct.fields}
        self._names = frozenset(name.lower() for name in _names(struct))
        self._no_more_columns = no_more_columns

    def row(self, members: Mapping[str, Raw], on_unknown: OnUnknown | None = None) -> Row:
        """A dict of column values for `pyarrow`; absent columns are absent.

        `on_unknown` is called with path and source text of every member that has no column, nested ones too.
        Raises ConversionError for the first value that a column cannot hold, and with `on_unknown` for a member that
        can never have a column.
        """
        try:
            return _members(members, self._columns, (), on_unknown and self._checked(on_unknown))
        except RecursionError:
            raise ConversionError("", "the value is nested too deeply") from None

    def _checked(self, on_unknown: OnUnknown) -> OnUnknown:
        def check(path: tuple[str, ...], raw: bytes) -> None:
            name = ".".join(path).lower()
            inferred = infer.infer(raw)
            if self._no_more_columns and inferred is not None:
                raise ConversionError(path[-1], self._no_more_columns)
            inside = [f"{name}.{inner.lower()}" for inner in _names(inferred)] if inferred is not None else []
            # Iceberg finds columns by dotted names (T#324), and SQL engines by names in any case.
            if not path[-1] or name in self._names or not self._names.isdisjoint(inside):
                raise ConversionError(path[-1], _NO_COLUMN)
            if len(set(inside)) < len(inside):
                raise ConversionError(path[-1], f"{_NO_COLUMN}: two of its members would have the same name")
            on_unknown(path, raw)

        return check

    def column(self, name: str, raw: bytes) -> Any:
        """The value of one top-level column from its source text. Raises ConversionError."""
        convert, field = self._columns[name]
        try:
            return _value(raw, convert, field.required, (), None)
        except ConversionError as error:
            raise error.inside(name) from None


def _names(type_: Type) -> Iterator[str]:
    """The dotted names of all columns inside a type."""
    match type_:
        case Struct(fields):
            members = [(f.name, f.type) for f in fields]
        case List(element):
            members = [("element", element)]
        case Map(key, value):
            members = [("key", key), ("value", value)]
        case _:
            members = []
    for name, member in members:
        yield name
        yield from (f"{name}.{inner}" for inner in _names(member))


_Compiled = Callable[[bytes, tuple[str, ...], OnUnknown | None], Any]
_Columns = Mapping[str, tuple[_Compiled, Field]]


def _members(members: Mapping[str, Raw], columns: _Columns, path: tuple[str, ...], on_unknown: OnUnknown | None) -> Row:
    row: Row = {}
    for name, raw in members.items():
        column = columns.get(name)
        if column is None:
            if on_unknown is not None:
                on_unknown((*path, name), bytes(raw))
            continue
        try:
            row[name] = _value(bytes(raw), column[0], column[1].required, (*path, name), on_unknown)
        except ConversionError as error:
            raise error.inside(name) from None
    if len(row) < len(columns):
        for name, (_, field) in columns.items():
            if field.required and name not in row:
                raise ConversionError(name, "the required value is missing")
    return row


def _value(raw: bytes, convert: _Compiled, required: bool, path: tuple[str, ...], on_unknown: OnUnknown | None) -> Any:
    if raw == b"null":
        if required:
            raise ConversionError("", "the required value is null")
        return None
    return convert(raw, path, on_unknown)


def _compile(type_: Type) -> _Compiled:
    match type_:
        case Struct(fields):
            return _struct({f.name: (_compile(f.type), f) for f in fields})
        case List(element, required):
            return _list(_compile(element), required)
        case Map(key, value, required):
            return _map(None if key == STRING else _compile(key), _compile(value), required)
        case _:
            return _scalar(type_)


def _scalar(type_: Scalar) -> _Compiled:
    convert = scalars.converter(type_)

    def scalar(raw: bytes, path: tuple[str, ...], on_unknown: OnUnknown | None) -> Any:
        try:
            return convert(raw)
        except msgspec.MsgspecError as error:
            raise ConversionError("", f"the text is not valid: {error}") from None
        except UnicodeDecodeError:
            raise ConversionError("", "the text is not UTF-8") from None
        except ValueError as error:
            excerpt = raw[:_EXCERPT].decode(errors="replace") + ("…" if len(raw) > _EXCERPT else "")
            shown = "" if type_.kind in ("string", "binary", "fixed") else f" ({excerpt})"
            raise ConversionError("", f"{error} for type {type_}{shown}") from None

    return scalar


def _struct(columns: _Columns) -> _Compiled:
    def struct(raw: bytes, path: tuple[str, ...], on_unknown: OnUnknown | None) -> Row:
        if raw[0] != 0x7B:
            raise ConversionError("", f"expected an object, got {scalars.kind_of(raw)}")
        return _members(_object(raw), columns, path, on_unknown)

    return struct


def _list(element: _Compiled, required: bool) -> _Compiled:
    def list_(raw: bytes, path: tuple[str, ...], on_unknown: OnUnknown | None) -> list[Any]:
        if raw[0] != 0x5B:
            raise ConversionError("", f"expected an array, got {scalars.kind_of(raw)}")
        path = (*path, "element")
        result: list[Any] = []
        for item in _array(raw):
            try:
                result.append(_value(bytes(item), element, required, path, on_unknown))
            except ConversionError as error:
                raise error.inside(f"[{len(result)}]") from None
        return result

    return list_


def _map(key: _Compiled | None, value: _Compiled, required: bool) -> _Compiled:
    """`key` is None for string keys."""

    def map_(raw: bytes, path: tuple[str, ...], on_unknown: OnUnknown | None) -> list[tuple[Any, Any]]:
        if raw[0] != 0x7B:
            raise ConversionError("", f"expected an object, got {scalars.kind_of(raw)}")
        path = (*path, "value")
        result: dict[Any, Any] = {}
        for name, item in _object(raw).items():
            try:
                converted = name if key is None else key(msgspec.json.encode(name), path, None)
                result[converted] = _value(bytes(item), value, required, path, on_unknown)
            except ConversionError as error:
                raise error.inside(f"[{name!r}]") from None
        return list(result.items())

    return map_
