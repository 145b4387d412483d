"""The strict converter: one JSON record, by the table's types, to an exact row or a reason why not.

It reads numbers, and objects that go into string columns, from their source text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from frazil.declare.converters import JSON_CONVERTER
from frazil.pipeline.convert import legacy_scalars, origins, scalars
from frazil.pipeline.convert.infer import Path
from frazil.pipeline.convert.overrides import NO_OVERRIDES, Overrides
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type, column_names

Raw = msgspec.Raw
Row = dict[str, Any]

_object = msgspec.json.Decoder(dict[str, Raw]).decode
_array = msgspec.json.Decoder(list[Raw]).decode
_texts = msgspec.json.Decoder(dict[str, str]).decode
_BLANKS = b" \t\r\n"
_EXCERPT = 60
_LONGEST = 1000
_SURROGATES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""Escapes of a JSON text: a pair of surrogates, half of one (the group), any other."""
_IN_LIST, _IN_MAP = re.compile(r"\[\d+\]"), re.compile(r"\[(['\"]).*?\1\]")
_INFERRED = ("long", "double", "boolean")
_NO_COLUMN = "a field of this name cannot become a column of the table"


def shortened(text: str) -> str:
    """Leave out the middle of a long text."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


class ConversionError(ValueError):
    """A value that a column cannot hold; `path` is the column's, such as `callInfo.rx` or `trace.source[2]`.

    `suits` is the type of a column that could hold this value too, as `frazil.schema.path.*` has it; may be empty. Of
    long paths and reasons, which may have names and texts of the record in them, both ends are kept.
    """

    def __init__(self, path: str, reason: str, suits: str = "") -> None:
        path, reason = shortened(path), shortened(reason)
        super().__init__(f"column {path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason
        self.suits = suits

    def inside(self, parent: str) -> ConversionError:
        """Put the path of the column that holds the value before that of the error."""
        separator = "" if not self.path or self.path.startswith("[") else "."
        return ConversionError(f"{parent}{separator}{self.path}", self.reason, self.suits)

    def with_way_on(self) -> ConversionError:
        """Name the key that gives a new column a type for this value, before what the reason has in parentheses."""
        if not self.suits or not self.path:
            return self
        path = _IN_MAP.sub(".value", _IN_LIST.sub(".element", self.path))
        reason, opening, example = self.reason.rpartition(" (")
        if not opening:
            reason, example = example, ""
        way = f"; frazil.schema.path.{path}={self.suits} takes such values too, in a table that is made with it"
        return ConversionError(self.path, f"{reason}{way}{opening}{example}")


class StageError(ConversionError):
    """A record that failed before it reached the sink; `origin` is Connect's name of the stage and the class."""

    def __init__(self, stage: str, class_name: str, reason: str) -> None:
        super().__init__("", reason)
        self.origin = stage, class_name


class UnreadableValue(StageError):
    """A value that its converter cannot read."""

    def __init__(self, reason: str, class_name: str = JSON_CONVERTER) -> None:
        super().__init__("VALUE_CONVERTER", class_name, reason)


class RecordError(ConversionError):
    """A reason that is the record's, wherever in it that shows: it has no path."""

    def __init__(self, reason: str) -> None:
        super().__init__("", reason)

    def inside(self, parent: str) -> ConversionError:
        """Return the error as it is."""
        return self


def is_nothing(value: bytes | None) -> bool:
    """Whether a value that nobody has looked at is null, or the JSON text `null`."""
    return value is None or value.strip(_BLANKS) == b"null"


def parse_object(value: bytes) -> dict[str, Raw]:
    """Read the members of a record with their source text; the last of two equal names wins.

    Raises UnreadableValue for what is not JSON in UTF-8, ConversionError, with an empty path, for JSON of another kind.
    """
    try:
        value.decode()
        return _object(value)
    except UnicodeDecodeError as error:
        raise UnreadableValue(f"the value is not UTF-8 (byte {error.start})") from None
    except RecursionError:
        raise UnreadableValue("the value is nested too deeply") from None
    except msgspec.ValidationError:
        raise ConversionError("", f"the value is not an object but {scalars.kind_of(value.strip())}") from None
    except msgspec.DecodeError as error:
        raise not_json(value, error) from None


def not_json(value: bytes, error: msgspec.DecodeError) -> UnreadableValue:
    """The reason why a value is refused that is no JSON."""
    if not value.strip():
        return UnreadableValue("the value is empty")
    return UnreadableValue(f"the value is not JSON: {_half_of_a_pair(value, str(error)) or error}")


def _half_of_a_pair(value: bytes, reason: str) -> str | None:
    """Find a half surrogate pair, since the parser takes one at the end of a value for the end of its input."""
    if "surrogate" not in reason and "truncated" not in reason:
        return None
    half = next((found[1] for found in _SURROGATES.finditer(value) if found[1]), None)
    return f"{half.decode()} is half of a surrogate pair, which is no character" if half else None


@dataclass(frozen=True)
class Notes:
    """Callbacks for what a row would need of its table; the row is of use only when none was called.

    `unknown` gets path and source text of each member that has no column, nested ones too. `wider` gets path and text
    of a number that its column would hold if it were wider. `absent` gets the path of a required column without a
    value; when it is None such a record cannot be stored.
    """

    unknown: Callable[[Path, bytes], None]
    wider: Callable[[Path, bytes], None]
    absent: Callable[[Path], None] | None = None


def _refuse(path: Path, raw: bytes) -> None:
    raise ConversionError("", "the table would have to change")


_NO_CHANGE = Notes(_refuse, _refuse)


class Converter:
    """Converts records to rows of a table."""

    def __init__(
        self,
        struct: Struct,
        no_more_columns: str = "",
        *,
        any_case: bool = False,
        legacy: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        empty_arrays: bool = False,
    ) -> None:
        """Compile the conversion for the columns of a table.

        With `no_more_columns`, a reason, a record with members that have no column is refused.

        With `any_case` members find their columns whatever their case is. With `legacy` values are bent as the
        Iceberg sink of Kafka Connect does. With `empty_arrays` one is null in a column of objects.
        """
        self._compile = _Compiler(any_case, legacy, empty_arrays)
        self._columns = self._compile.columns(struct)
        self._names = {name.lower(): name for name in column_names(struct)}
        self._no_more_columns = no_more_columns
        self._overrides = overrides

    def row(self, members: Mapping[str, Raw], notes: Notes | None = None) -> Row:
        """Convert a record to a dict of column values for `pyarrow`; absent columns are absent.

        Without `notes` members that have no column are left out. Raises ConversionError for the first value that a
        column cannot hold, and with `notes` for a member that can never have a column.
        """
        try:
            return _members(members, self._columns, notes and self._checked(notes))
        except RecursionError:
            raise ConversionError("", "the value is nested too deeply") from None

    def _checked(self, notes: Notes) -> Notes:
        given: dict[str, str] = {}

        def check(path: Path, raw: bytes) -> None:
            name = ".".join(path)
            inferred = self._overrides.infer(path, raw)
            if self._no_more_columns and inferred is not None:
                raise RecordError(f"{self._no_more_columns} ({name})")
            if not path[-1]:
                raise ConversionError("", "a field with the empty name cannot become a column of the table")
            inside = [f"{name}.{inner}".lower() for inner in column_names(inferred)] if inferred is not None else []
            # Iceberg finds columns by dotted names, and SQL engines by names in any case.
            taken = next((self._names[wanted] for wanted in (name.lower(), *inside) if wanted in self._names), None)
            if taken is not None:
                case = taken != name and taken.lower() == name.lower()
                why = f"it differs only in case from the column {taken}" if case else f"there is a column {taken}"
                raise ConversionError(path[-1], f"{_NO_COLUMN}: {why}")
            if len(set(inside)) < len(inside):
                raise ConversionError(path[-1], f"{_NO_COLUMN}: two of its members would have the same name")
            for wanted in (name.lower(), *inside):
                other = given.setdefault(wanted, name)
                if other != name:  # else this record would choose a column for others, and not be stored itself
                    raise ConversionError(path[-1], f"{_NO_COLUMN}: the record has {other} too, as the same column")
            notes.unknown(path, raw)

        return Notes(check, notes.wider, notes.absent)

    def column(self, name: str, raw: bytes, *, evolve: bool) -> Any:
        """Convert the value of one top-level column from its source text.

        Raises ConversionError; with `evolve` also for a value that the column could hold if the table were changed.
        """
        convert, field = self._columns.by_column[name]
        if raw == b"null":
            if field.required:
                raise ConversionError(name, "the required value is null")
            return None
        try:
            return convert(raw, _NO_CHANGE if evolve else None)
        except ConversionError as error:
            raise error.inside(name) from None


_Compiled = Callable[[bytes, Notes | None], Any]
"""A conversion of the source text of a value that is not null; it knows its path."""


class _Columns:
    """The columns of a struct at `path`, by their own names and by those that members of records have."""

    __slots__ = ("any_case", "by_column", "by_member", "ignored", "path")

    def __init__(
        self, path: Path, columns: Mapping[str, tuple[_Compiled, Field]], ignored: tuple[str, ...], any_case: bool
    ) -> None:
        fold = str.lower if any_case else str
        self.path = path
        self.any_case = any_case
        self.by_column = columns
        self.by_member = {fold(member): column for column in columns.values() for member in column[1].members}
        self.ignored = frozenset(fold(name) for name in ignored)


def _members(members: Mapping[str, Raw], columns: _Columns, notes: Notes | None) -> Row:
    row: Row = {}
    by_member, any_case = columns.by_member, columns.any_case
    for member, value in members.items():
        key = member.lower() if any_case else member
        column = by_member.get(key)
        raw = bytes(value)
        if column is None:
            if notes is not None and key not in columns.ignored:
                notes.unknown((*columns.path, member), raw)
            continue
        convert, field = column
        name = field.name
        if name in row:
            raise ConversionError(name, f"two fields are for it, the second is {member}")
        if raw == b"null":
            if field.required:
                if field.firm:
                    raise ConversionError(name, "the required value is null")
                _absent((*columns.path, name), notes, name)
            row[name] = None
            continue
        try:
            row[name] = convert(raw, notes)
        except ConversionError as error:
            raise error.inside(name) from None
    if len(row) < len(columns.by_column):
        for name, (_, field) in columns.by_column.items():
            if field.required and name not in row:
                if field.firm or notes is None or notes.absent is None:
                    raise ConversionError(name, "the required value is missing")
                notes.absent((*columns.path, name))
    return row


def _absent(path: Path, notes: Notes | None, where: str) -> None:
    """Tell that a required value is null. Raises ConversionError when that refuses the record."""
    if notes is None or notes.absent is None:
        raise ConversionError(where, "the required value is null")
    notes.absent(path)


class _Compiler:
    """Makes conversions from the types of columns."""

    def __init__(self, any_case: bool, legacy: bool, empty_arrays: bool) -> None:
        self._any_case = any_case
        self._empty_arrays = empty_arrays
        self._legacy = legacy
        self._scalars = legacy_scalars.converter if legacy else scalars.converter

    def columns(self, struct: Struct, path: Path = ()) -> _Columns:
        """Compile the columns of a struct."""
        compiled = {f.name: (self._type(f.type, (*path, f.name), f.required), f) for f in struct.fields}
        return _Columns(path, compiled, struct.ignored, self._any_case)

    def _type(self, type_: Type, path: Path, required: bool) -> _Compiled:
        compiled = self._of_kind(type_, path)
        nullable = self._empty_arrays and not required and isinstance(type_, Struct | Map)
        return _or_empty_array(compiled) if nullable else compiled

    def _of_kind(self, type_: Type, path: Path) -> _Compiled:
        match type_:
            case Struct():
                return _struct(self.columns(type_, path))
            case List(element, required):
                inside = (*path, "element")
                return _list(self._type(element, inside, required), required, inside)
            case Map(key, value, required):
                inside = (*path, "value")
                keys = None if key == STRING else self._type(key, inside, True)
                if keys is not None and isinstance(key, Scalar) and key.origin:
                    keys = _number_or_text(keys)
                general = _map(keys, self._type(value, inside, required), required, inside)
                return _map_of_texts(general) if key == value == STRING else general
            case _:
                if type_.origin:
                    return _scalar(type_, origins.converter(type_, legacy=self._legacy), path)
                return _scalar(type_, self._scalars(type_), path)


def _scalar(type_: Scalar, convert: scalars.Convert, path: Path) -> _Compiled:
    def scalar(raw: bytes, notes: Notes | None) -> Any:
        try:
            return convert(raw)
        except msgspec.MsgspecError as error:
            raise ConversionError("", f"the text is not valid: {error}") from None
        except UnicodeDecodeError:
            raise ConversionError("", "the text is not UTF-8") from None
        except (ValueError, ArithmeticError) as error:
            number = scalars.in_wider(type_, raw) if notes is not None else None
            if number is not None and notes is not None:
                notes.wider(path, number)
                return None
            excerpt = raw[:_EXCERPT].decode(errors="replace") + ("…" if len(raw) > _EXCERPT else "")
            shown = "" if type_.kind in ("string", "binary", "fixed") else f" ({excerpt})"
            raise ConversionError("", f"{error} for type {type_}{shown}", _suiting(type_, raw)) from None

    return scalar


def _suiting(type_: Scalar, raw: bytes) -> str:
    """The type of a column for values of a type that new columns get and for another value, too; else none."""
    if type_.kind not in _INFERRED:
        return ""
    if raw[0] in b"{[":
        return "json"
    return "double" if type_.kind == "long" and raw[0] in b"-0123456789" else "string"


def _struct(columns: _Columns) -> _Compiled:
    def struct(raw: bytes, notes: Notes | None) -> Row:
        if raw[0] != 0x7B:
            raise ConversionError("", f"expected an object, got {scalars.kind_of(raw)}", "json")
        return _members(_object(raw), columns, notes)

    return struct


def _or_empty_array(convert: _Compiled) -> _Compiled:
    """Make a conversion of objects that takes an empty array, as PHP writes an empty object, for null."""

    def convert_or_null(raw: bytes, notes: Notes | None) -> Any:
        return None if raw[0] == 0x5B and not raw[1:-1].strip() else convert(raw, notes)

    return convert_or_null


def _list(element: _Compiled, required: bool, path: Path) -> _Compiled:
    def list_(raw: bytes, notes: Notes | None) -> list[Any]:
        if raw[0] != 0x5B:
            raise ConversionError("", f"expected an array, got {scalars.kind_of(raw)}", "json")
        result: list[Any] = []
        for item in _array(raw):
            text = bytes(item)
            try:
                if text == b"null":
                    if required:
                        _absent(path, notes, "")
                    result.append(None)
                else:
                    result.append(element(text, notes))
            except ConversionError as error:
                raise error.inside(f"[{len(result)}]") from None
        return result

    return list_


def _map(key: _Compiled | None, value: _Compiled, required: bool, path: Path) -> _Compiled:
    """Make the conversion of a map; `key` is None for string keys."""

    def map_(raw: bytes, notes: Notes | None) -> list[tuple[Any, Any]]:
        if raw[0] != 0x7B:
            raise ConversionError("", f"expected an object, got {scalars.kind_of(raw)}", "json")
        result: dict[Any, Any] = {}
        for name, item in _object(raw).items():
            text = bytes(item)
            try:
                converted = name if key is None else key(msgspec.json.encode(name), None)
                if converted in result:
                    raise ConversionError("", "the map has this key twice, written in two ways")
                if text == b"null":
                    if required:
                        _absent(path, notes, "")
                    result[converted] = None
                else:
                    result[converted] = value(text, notes)
            except ConversionError as error:
                raise error.inside(f"[{name!r}]") from None
        return list(result.items())

    return map_


def _number_or_text(key: _Compiled) -> _Compiled:
    """Make the conversion of keys that are numbers by their schema, which JSON has as texts."""

    def number_or_text(raw: bytes, notes: Notes | None) -> Any:
        return key(raw[1:-1] if scalars.is_plain_number(raw[1:-1].decode()) else raw, notes)

    return number_or_text


def _map_of_texts(general: _Compiled) -> _Compiled:
    """Make the conversion of a map of texts: one call reads it where all values are texts, as nearly always."""

    def map_(raw: bytes, notes: Notes | None) -> list[tuple[str, str]]:
        try:
            return list(_texts(raw).items())
        except msgspec.MsgspecError:
            converted: list[tuple[str, str]] = general(raw, notes)
            return converted

    return map_
