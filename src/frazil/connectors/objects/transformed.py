"""Schemas of values that transformations changed: what the schemas of their records say, and what else they show.

Fields that a transformation adds have the type that the first value with them shows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Optional

import msgspec

from frazil.connectors.objects.records import Schema
from frazil.connectors.objects.told import schema_of, with_required
from frazil.pipeline.convert import infer
from frazil.pipeline.convert.origins import with_origins, without_origins
from frazil.pipeline.types import List, Map, Struct, Type, inner_types

_MOST = 1000


@dataclass(frozen=True)
class _Known:
    """The number of a type, which is kept, so that no other one gets its identity."""

    type_: Type
    number: int
    has_no_others: Callable[[bytes], Any]
    """Raises for a value with fields that the schema lacks."""


class TransformedSchemas:
    """Finds the schema of a value; equal ones get the same number, which is their place in `schemas`."""

    def __init__(self, schemas: list[Schema]) -> None:
        self._schemas = schemas
        self._numbers: dict[bytes, int] = {}
        self._known: dict[int, _Known] = {}

    def number_of(self, type_: Type) -> int:
        """Give the number of the schema of values that are no objects."""
        known = self._known.get(id(type_))
        if known is not None:
            return known.number
        told = schema_of(type_)
        return self._kept(type_, Schema(told.to_json(), None, None, None, type_, told), bytes)

    def number(self, text: bytes, shape: Struct) -> int:
        """Give the number of the schema of a value; `shape` is what is known of its members."""
        known = self._known.get(id(shape))
        if known is not None:
            try:
                known.has_no_others(text)
            except (msgspec.MsgspecError, RecursionError):
                pass  # it has others
            else:
                return known.number
        whole = _with_others(shape, infer.infer(text))
        columns = with_origins(without_origins(whole), whole)
        assert isinstance(columns, Struct)  # noqa: S101 - values with a shape are objects
        told = schema_of(whole)
        schema = Schema(told.to_json(), with_required(columns, told), told.name, told.version, whole, told)
        return self._kept(shape, schema, _reader(columns))

    def _kept(self, type_: Type, schema: Schema, has_no_others: Callable[[bytes], Any]) -> int:
        number = self._numbers.setdefault(schema.text, len(self._schemas))
        if number == len(self._schemas):
            self._schemas.append(schema)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[id(type_)] = _Known(type_, number, has_no_others)
        return number


def _with_others(type_: Type, shown: Type | None) -> Type:
    """Add the members to a type that a value shows, and that it lacks."""
    match type_, shown:
        case Struct(fields), Struct(members):
            types = {member.name: member.type for member in members}
            known = tuple(replace(field, type=_with_others(field.type, types.get(field.name))) for field in fields)
            names = {field.name for field in fields}
            return replace(type_, fields=(*known, *(member for member in members if member.name not in names)))
        case List(element), List(items):
            return replace(type_, element=_with_others(element, items))
        case Map(_, value), Map(_, values):
            return replace(type_, value=_with_others(value, values))
        case _:
            return type_


def _reader(columns: Struct) -> Callable[[bytes], Any]:
    try:
        return msgspec.json.Decoder(_names(columns)).decode
    except ValueError:  # a name that msgspec cannot have
        return _refuse


def _refuse(text: bytes) -> Any:
    raise msgspec.ValidationError("a name cannot be expressed")


def _names(type_: Type) -> Any:
    """Make the type of msgspec that knows the names of all fields, and takes any value for them."""
    match type_:
        case Struct(fields):
            members = [(f"c{index}", _names(field.type), None) for index, field in enumerate(fields)]
            rename = {f"c{index}": field.name for index, field in enumerate(fields)}
            made = msgspec.defstruct("Names", members, rename=rename, forbid_unknown_fields=True, gc=False)
            return Optional[made]  # noqa: UP045 - the class is known at run time only
        case List(element) if _has_struct(element):
            return Optional[list.__class_getitem__(_names(element))]  # noqa: UP045
        case Map(_, value) if _has_struct(value):
            return Optional[dict.__class_getitem__((str, _names(value)))]  # noqa: UP045
        case _:
            return msgspec.Raw


def _has_struct(type_: Type) -> bool:
    return isinstance(type_, Struct) or any(_has_struct(inner) for _, inner in inner_types(type_))
