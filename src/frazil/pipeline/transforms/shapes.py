"""Types that the members of transformed values have, as far as their JSON text does not show them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from frazil.pipeline.schemas.connect import as_optional, is_optional
from frazil.pipeline.transforms.record import UNNAMED, Identity, Json
from frazil.pipeline.types import Field, Scalar, Struct, Type, Typed

_MOST = 1000
_TELLING = frozenset((Typed, dict))


class Shapes:
    """Finds the types of a value; values of the same types get the same object, while there are few."""

    def __init__(self) -> None:
        self._known: dict[Any, Struct] = {}

    def of(self, value: Json, schema: Identity = UNNAMED) -> Struct | None:
        """Give the types of the members of an object of a schema; None where text shows all there is."""
        if isinstance(value, Typed):
            return value.type if isinstance(value.type, Struct) else None
        if type(value) is not dict or (schema == UNNAMED and _TELLING.isdisjoint(map(type, value.values()))):
            return None
        key = schema, *_key(value)
        if key == (UNNAMED,):
            return None
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = self._known[key] = _struct(value, schema)
        return found


class Derived:
    """Makes types of those that values had before; the same one gives the same object."""

    def __init__(self, make: Callable[[Any], Type]) -> None:
        self._make = make
        self._known: dict[int, tuple[Type | None, Type]] = {}

    def of(self, value: Json) -> Type:
        """Make the type that a value gets; it is made of None for one whose type is not known."""
        before = value.type if type(value) is Typed else None
        found = self._known.get(id(before))
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = self._known[id(before)] = before, self._make(before)
        return found[1]


class Optionals(Derived):
    """Makes types whose values may be null, whatever their schema says."""

    def __init__(self) -> None:
        super().__init__(lambda type_: replace(type_, told=as_optional(type_.told)))

    def member(self, value: Json) -> Json:
        """Note that a value may be null."""
        return Typed(value.raw, self.of(value)) if isinstance(value, Typed) else value


def as_nullable(type_: Scalar) -> Callable[[Type | None], Scalar]:
    """Give the function for a required type: its values may be null where those before may be, or are not known."""
    optional = replace(type_, told=as_optional(type_.told))
    return lambda before: optional if before is None or is_optional(before.told) else type_


def _key(value: dict[str, Json]) -> tuple[Any, ...]:
    """Tell the types of an object from others, by their identities: what is known keeps them alive."""
    key: list[Any] = []
    for name, member in value.items():
        if type(member) is Typed:
            key.append((name, id(member.type)))
        elif type(member) is dict and (inner := _key(member)):
            key.append((name, inner))
    return tuple(key)


def _struct(value: Json, schema: Identity = UNNAMED) -> Struct:
    members = value.items() if type(value) is dict else ()
    types: list[tuple[str, Type]] = []
    for field, member in members:
        if type(member) is Typed:
            types.append((field, member.type))
        elif type(member) is dict and _key(member):
            types.append((field, _struct(member)))
    fields = tuple(Field(field, type_) for field, type_ in types)
    return Struct(fields, origin=schema.name, version=schema.version, told=schema.told)
