"""The types of a destination table, from which verdict, decoder and converter are generated.

Independent of any table format; `connectors/iceberg/table/schema.py` makes them from an Iceberg schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import msgspec

ScalarKind = Literal[
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "decimal",
    "string",
    "uuid",
    "fixed",
    "binary",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "timestamp_ns",
    "timestamptz_ns",
]


@dataclass(frozen=True)
class Scalar:
    """A scalar; `precision` and `scale` for decimal, `length` in bytes for fixed.

    `origin`: what the schema of records says that a value is, where its JSON text does not, as the name of the schema.
    `told`, here and in other types: the JSON of the Connect schema that says it, without the schemas inside of that.
    Types are equal whatever was told of them.
    """

    kind: ScalarKind
    precision: int = 0
    scale: int = 0
    length: int = 0
    origin: str = ""
    told: bytes = field(default=b"", compare=False, repr=False)

    def __str__(self) -> str:
        if self.kind == "decimal":
            return f"decimal({self.precision},{self.scale})"
        return f"fixed({self.length})" if self.kind == "fixed" else self.kind


@dataclass(frozen=True)
class Struct:
    """A struct; `ignored` are members that never become columns, `origin` and `version` are those of its schema."""

    fields: tuple[Field, ...]
    ignored: tuple[str, ...] = ()
    origin: str = ""
    version: int | None = None
    told: bytes = field(default=b"", compare=False, repr=False)

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{f.name}: {f.type}' for f in self.fields)}>"


@dataclass(frozen=True)
class List:
    element: Type
    element_required: bool = False
    element_id: int | None = None
    told: bytes = field(default=b"", compare=False, repr=False)

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True)
class Map:
    key: Type
    value: Type
    value_required: bool = False
    key_id: int | None = None
    value_id: int | None = None
    told: bytes = field(default=b"", compare=False, repr=False)

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


@dataclass(frozen=True)
class Field:
    """A column or a member; ids are those that Parquet files carry for Iceberg readers.

    `aliases` are the names that records have for it, in place of its own; None when they have its own. `firm`: it is
    required for good, as a column that identifies rows.
    """

    name: str
    type: Type
    required: bool = False
    field_id: int | None = None
    aliases: tuple[str, ...] | None = None
    firm: bool = False

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members of a record whose values the column gets."""
        return (self.name,) if self.aliases is None else self.aliases


Type: TypeAlias = Scalar | Struct | List | Map

STRING = Scalar("string")


class Typed:
    """JSON text of a value whose type the text alone does not show: a time, a map.

    No dataclass, since the encoder would take it for an object with members.
    """

    __slots__ = ("raw", "type")

    def __init__(self, raw: msgspec.Raw, type_: Type) -> None:
        self.raw = raw
        self.type = type_


def inner_types(type_: Type) -> list[tuple[str, Type]]:
    """List the types directly inside of a type, with the names that Iceberg has for them."""
    match type_:
        case Struct(fields):
            return [(f.name, f.type) for f in fields]
        case List(element):
            return [("element", element)]
        case Map(key, value):
            return [("key", key), ("value", value)]
        case _:
            return []


def column_names(type_: Type) -> Iterator[str]:
    """List the dotted names of all columns inside a type."""
    for name, inner in inner_types(type_):
        yield name
        yield from (f"{name}.{deeper}" for deeper in column_names(inner))


def has_aliases(type_: Type) -> bool:
    """Whether records have other names for a column of the type, at any depth."""
    own = isinstance(type_, Struct) and any(f.members != (f.name,) for f in type_.fields)
    return own or any(has_aliases(inner) for _, inner in inner_types(type_))


def changed(type_: Type, change: Callable[[str, Type], Type | None]) -> Type | None:
    """Change the types of members, elements or values inside of a type; None when nothing is left."""
    match type_:
        case Struct(fields):
            kept = [(f, change(f.name, f.type)) for f in fields]
            members = tuple(replace(f, type=found) for f, found in kept if found is not None)
            return replace(type_, fields=members) if members else None
        case List(element):
            inner = change("element", element)
            return None if inner is None else replace(type_, element=inner)
        case Map(_, value):
            inner = change("value", value)
            return None if inner is None else replace(type_, value=inner)
        case _:
            return type_
