"""Values of members of records, by dotted paths, for folders and record times."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from frazil.pipeline.types import Struct, Type

Member = bytes | None
"""Source text of a member; None for one that is null or absent."""

_NULL = msgspec.Raw(b"null")
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class NotAnObject(ValueError):
    """A record, or a parent of a member, that is no object."""


@lru_cache(maxsize=64)
def reader(paths: tuple[str, ...]) -> Callable[[bytes], list[Member]]:
    """Reads the members at dotted paths from the JSON of a record.

    A null or absent parent makes a member None. Raises NotAnObject for a record that is no object, and for a parent
    that is another value.
    """
    split = [path.split(".") for path in paths]
    heads = list(dict.fromkeys(parts[0] for parts in split))
    fields: list[tuple[str, Any, Any]] = [
        (f"f{index}", msgspec.Raw, msgspec.field(default=_NULL, name=head)) for index, head in enumerate(heads)
    ]
    decode = msgspec.json.Decoder(msgspec.defstruct("Members", fields)).decode
    plan = [(f"f{heads.index(parts[0])}", parts[1:]) for parts in split]

    def read(text: bytes) -> list[Member]:
        try:
            found = decode(text)
        except (msgspec.ValidationError, RecursionError):
            raise NotAnObject from None
        return [_inside(getattr(found, attribute), rest) for attribute, rest in plan]

    return read


def _inside(raw: msgspec.Raw, rest: Sequence[str]) -> Member:
    value: Member = bytes(raw)
    for name in rest:
        if value is None or value == b"null":
            return None
        try:
            inner = _object(value).get(name)
        except msgspec.ValidationError:
            raise NotAnObject from None
        value = None if inner is None else bytes(inner)
    return None if value == b"null" else value


def type_at(struct: Struct, path: str) -> Type | None:
    """The type of a column by its dotted path; None when there is none."""
    found: Type = struct
    for name in path.split("."):
        if not isinstance(found, Struct):
            return None
        inner = next((field.type for field in found.fields if field.name == name), None)
        if inner is None:
            return None
        found = inner
    return found
