"""Types of unknown fields, for schema evolution, merged over the records of a batch."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Literal

import msgspec

from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type, changed, inner_types

Path = tuple[str, ...]
Seen = Counter[tuple[Path, str]]
"""Counts of the records that show a kind of value at a path; list elements are under `element`."""
MAP = Map(STRING, STRING)
"""Type of an object whose keys are data; it takes any value, as its JSON text where it is no text."""

_LONG = Scalar("long")
_DOUBLE = Scalar("double")
_MAX_PRECISION = 38
_DECIMAL_LONG = Scalar("decimal", precision=_MAX_PRECISION)
_DIGITS = {"int": 10, "long": 19}
_NUMBERS = frozenset(("int", "long", "float", "double"))
NOTHING = Struct((), ignored=("",))
"""Type of the elements of an array that shows none yet, where `empties` are told."""
NO_ARRAY = Struct((), ignored=("", ""))
"""Type of the elements of an empty array that may as well be an empty object, as PHP writes one."""
Empties = Literal["untold", "kinds", "lenient"]
"""Ways to take an empty object or array: it shows nothing; it is of its kind; an empty array may be an object too."""
_NOTHING = (NOTHING, NO_ARRAY)
_EMPTY_ARRAY = List(NO_ARRAY)
_MAX_DEPTH = 32
"""Objects and arrays inside each other beyond this become text: deeper types break catalogs and readers."""
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


def infer(raw: bytes, *, empties: Empties = "untold") -> Type | None:
    """Infer the column type for a JSON value; None where it shows no type yet (null, [], {}, [null] …).

    Whole numbers are long (decimal(38,0) beyond 64 bits), all others double; 1.0 is a double. What lies more
    than 32 levels deep is text, and so is an object with an empty name, which Iceberg cannot have.

    Where `empties` are told an object or array that shows no type yet is told from other values, so that `merge` makes
    text of both; `without_empties` takes them out again.
    """
    try:
        return _infer(raw, _MAX_DEPTH, empties)
    except RecursionError:
        return STRING


def _infer(raw: bytes, depth: int, empties: Empties) -> Type | None:
    if raw[0] in b"{[" and not depth:
        return STRING
    match raw[0]:
        case 0x22:
            return STRING
        case 0x74 | 0x66:
            return Scalar("boolean")
        case 0x6E:
            return None
        case 0x7B:
            members = {name: _infer(bytes(item), depth - 1, empties) for name, item in _object(raw).items()}
            if "" in members:
                return STRING
            fields = tuple(Field(name, type_) for name, type_ in members.items() if type_ is not None)
            return Struct(fields) if fields or empties != "untold" else None
        case 0x5B:
            elements: list[Type | None] = []
            for item in _array(raw):
                elements.append(_infer(bytes(item), depth - 1, empties))
            element = merge_types(elements)
            if element is None and empties != "untold":
                element = NO_ARRAY if empties == "lenient" and not elements else NOTHING
            return List(element) if element is not None else None
        case _:
            return _number(raw)


def _number(raw: bytes) -> Type:
    if any(c in raw for c in b".eE"):
        return _DOUBLE
    value = int(raw) if len(raw) <= 40 else 10**39
    if -(1 << 63) <= value < 1 << 63:
        return _LONG
    return _DECIMAL_LONG if abs(value) < 10**38 else STRING


def typed(columns: Mapping[Path, Type]) -> dict[Path, Type]:
    """The columns that show a type, without the empties inside of them."""
    shown = ((path, without_empties(type_)) for path, type_ in columns.items())
    return {path: type_ for path, type_ in shown if type_ is not None}


def without_empties(type_: Type | None) -> Type | None:
    """Remove what `infer` with `empties` keeps of empty objects and arrays; None where nothing is left."""
    return None if type_ is None else changed(type_, lambda _, inner: without_empties(inner))


def column_count(type_: Type) -> int:
    """Count the columns that a column of the type is, nested ones too."""
    return 1 + sum(column_count(inner) for _, inner in inner_types(type_))


def count(path: Path, types: Iterable[Type], seen: Seen) -> None:
    """Count in `seen` what records show at a path, of the types that they show there, and inside."""
    inside: dict[str, list[Type]] = {}
    for type_ in types:
        if type_ in _NOTHING:
            continue
        seen[path, kind_of(type_)] += 1
        for name, inner in () if isinstance(type_, Map) else inner_types(type_):
            inside.setdefault(name, []).append(inner)
    for name, found in inside.items():
        count((*path, name), found, seen)


def kind_of(type_: Type) -> str:
    """Name the kind of a value: that of a scalar, `object` or `array`."""
    match type_:
        case Scalar(kind=kind):
            return kind
        case List():
            return "array"
        case _:
            return "object"


def records(seen: Seen) -> Counter[Path]:
    """Count the records that show a value at a path."""
    counts: Counter[Path] = Counter()
    for (path, _), count in seen.items():
        counts[path] += count
    return counts


def merge(left: Type | None, right: Type | None) -> Type | None:
    """Find a type for the values of both: the wider number, double for whole ones beside fractions, else text.

    A day beside a point in time is the point at its midnight.
    """
    if left is None or right is None or left == right:
        return right if left is None else left
    if left in _NOTHING or right in _NOTHING:
        return right if left in _NOTHING else left
    match left, right:
        case (Struct() | Map(), List()) if right == _EMPTY_ARRAY:
            return left
        case (List(), Struct() | Map()) if left == _EMPTY_ARRAY:
            return right
        case Struct(), Struct():
            return Struct(_merge_fields(left.fields, right.fields))
        case (Map(), Struct()) | (Struct(), Map()) if MAP in (left, right):
            return MAP
        case List(), List():
            element = merge(left.element, right.element)
            return STRING if element is None else List(element)
        case Map(), Map():
            key, value = merge(left.key, right.key), merge(left.value, right.value)
            return STRING if key is None or value is None else Map(key, value)
        case Scalar(), Scalar():
            return _merge_scalars(left, right)
        case _:
            return STRING


def _merge_scalars(left: Scalar, right: Scalar) -> Scalar:
    kinds = {left.kind, right.kind}
    if kinds <= {"int", "long"}:
        return _LONG
    if kinds <= _NUMBERS:
        return _DOUBLE
    if "decimal" in kinds and kinds <= {"decimal", *_DIGITS}:
        scale = max(left.scale, right.scale)
        whole = max(_DIGITS.get(each.kind, each.precision) - each.scale for each in (left, right))
        return Scalar("decimal", precision=min(whole + scale, _MAX_PRECISION), scale=scale)
    if "date" in kinds and all(kind == "date" or kind.startswith("timestamp") for kind in kinds):
        return right if left.kind == "date" else left
    return STRING


def merge_types(types: Iterable[Type | None]) -> Type | None:
    """Merge any number of types, in a time that grows with their sizes alone."""
    distinct = list(dict.fromkeys(type_ for type_ in types if type_ is not None))
    shown = [type_ for type_ in distinct if type_ not in _NOTHING] or distinct[:1]
    if any(isinstance(type_, Struct | Map) for type_ in shown):
        shown = [type_ for type_ in shown if type_ != _EMPTY_ARRAY]
    if len(shown) < 2:
        return shown[0] if shown else None
    if len({type(type_) for type_ in shown}) > 1:
        return MAP if all(isinstance(type_, Struct) or type_ == MAP for type_ in shown) else STRING
    if isinstance(shown[0], Scalar):
        return reduce(_merge_scalars, (type_ for type_ in shown if isinstance(type_, Scalar)))
    members: dict[str, list[Type]] = {}
    for type_ in shown:
        for name, inner in inner_types(type_):
            members.setdefault(name, []).append(inner)
    merged = {name: found for name, inner in members.items() if (found := merge_types(inner)) is not None}
    match shown[0]:
        case List():
            return List(merged["element"])
        case Map():
            return Map(merged["key"], merged["value"])
        case _:
            return Struct(tuple(Field(name, type_) for name, type_ in merged.items()))


def _merge_fields(left: Iterable[Field], right: Iterable[Field]) -> tuple[Field, ...]:
    merged: dict[str, Type] = {}
    for field in (*left, *right):
        type_ = merge(merged.get(field.name), field.type)
        if type_ is not None:
            merged[field.name] = type_
    return tuple(Field(name, type_) for name, type_ in merged.items())


def merge_all(unknown: Iterable[Mapping[Path, Type]]) -> dict[Path, Type]:
    """Merge the unknown fields of several tasks, each path once."""
    result: dict[Path, Type] = {}
    for fields in unknown:
        for path, type_ in fields.items():
            merged = merge(result.get(path), type_)
            if merged is not None:
                result[path] = merged
    return result


def widened(columns: Struct, unknown: Mapping[Path, Type]) -> Struct:
    """The columns with the unknown fields as optional ones; a field that has a column keeps its type.

    Of names that differ only in case, which other readers take for one, the first becomes a column. Paths lead through
    `element` of lists and `value` of maps.
    """
    found: Type = columns
    for path, type_ in unknown.items():
        found = _with(found, path, type_)
    assert isinstance(found, Struct)  # noqa: S101 - as it was
    return found


def _with(into: Type, path: Sequence[str], type_: Type) -> Type:
    if not path:
        return into
    name, rest = path[0], path[1:]
    match into:
        case List():
            return replace(into, element=_with(into.element, rest, type_)) if name == "element" else into
        case Map():
            return replace(into, value=_with(into.value, rest, type_)) if name == "value" else into
        case Struct(fields):
            if all(field.name.lower() != name.lower() for field in fields):
                return replace(into, fields=(*fields, Field(name, type_))) if not rest else into
            inside = (replace(f, type=_with(f.type, rest, type_)) if f.name == name else f for f in fields)
            return replace(into, fields=tuple(inside))
        case _:
            return into
