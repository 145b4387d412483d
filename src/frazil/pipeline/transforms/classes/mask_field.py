"""MaskField: values without meaning in place of those that were there."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from frazil.declare.definition import Key
from frazil.declare.validators import non_empty
from frazil.pipeline.convert import scalars
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.plugin import (
    KEY_OR_VALUE,
    REPLACE_NULL,
    Options,
    Transformation,
    items,
    not_empty,
    of_lists,
)
from frazil.pipeline.transforms.record import (
    Apply,
    DataError,
    Json,
    Part,
    Raw,
    Record,
    is_fraction,
    is_null,
    members,
    quoted,
    raw_bytes,
    retyped,
)
from frazil.pipeline.types import STRING, Scalar, Type, Typed

if TYPE_CHECKING:
    import pyarrow as pa

_MASKS: Mapping[str, Any] = {"string": "", "boolean": False}
_EMPTY: Mapping[int, bytes] = {0x22: b'""', 0x7B: b"{}", 0x5B: b"[]", 0x74: b"false", 0x66: b"false"}

_FIRST_TIMES: Mapping[str, bytes] = {
    "date": b'"1970-01-01"',
    "time": b'"00:00:00"',
    "timestamptz": b'"1970-01-01T00:00:00Z"',
}
"""Masks of times that `TimestampConverter` has written, by their type."""


def _build(options: Options, part: Part) -> Apply:
    """The kind of the value that was there stays; absent ones and null stay so."""
    names = items(options, "fields")
    given = options.get("replacement")
    replacement = None if given is None else _Replacement(str(given))

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        for name in names:
            value = found.get(name)
            if value is not None and not is_null(value):
                raw = raw_bytes(value)
                masked = Raw(_empty(raw, value)) if replacement is None else replacement.of(name, raw)
                found[name] = masked if type(value) is Raw else retyped(masked, value)

    return apply


def _columns(options: Options) -> ApplyToBlock:
    names, given = items(options, "fields"), options.get("replacement")

    def apply(block: Block) -> Block | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        members = dict(block.members)
        for name in names:
            if name not in members:
                continue
            array, type_ = members[name]
            masked = _masked(array, type_) if given is None else str(given) if type_ == STRING else None
            if masked is None:
                return None
            nothing, value = pa.scalar(None, array.type), pa.scalar(masked, array.type)
            members[name] = pc.if_else(array.is_valid(), value, nothing), type_
        return block.having(members)

    return apply


def _masked(array: pa.Array, type_: Type) -> Any:
    """Give what all values become; None where their JSON tells, as it does of numbers that are none."""
    import pyarrow.compute as pc

    if not isinstance(type_, Scalar) or type_.kind == "binary":
        return None
    if type_.kind in ("float", "double") and pc.all(pc.is_finite(array)).as_py() is False:
        return None
    return _MASKS.get(type_.kind, 0)


def _empty(raw: bytes, value: Json) -> bytes:
    if raw[0] == 0x22 and isinstance(value, Typed) and isinstance(value.type, Scalar):
        return _FIRST_TIMES.get(value.type.kind, b'""')
    found = _EMPTY.get(raw[0])
    if found is not None:
        return found
    return b"0.0" if is_fraction(raw) else b"0"


class _Replacement:
    """The replacement of a mask, as text and as the number that it stands for, if it does."""

    def __init__(self, given: str) -> None:
        self._given = given
        self._text = quoted(given)
        try:
            number = Decimal(given)
        except InvalidOperation:
            number = Decimal("NaN")
        self._number = number if number.is_finite() and abs(number.adjusted()) < 400 else None

    def of(self, name: str, raw: bytes) -> Raw:
        """The replacement for a value. Raises DataError where there is none."""
        kind = scalars.kind_of(raw)
        if kind == "text":
            return self._text
        if kind != "number":
            raise DataError(f"{name} is {kind}, which cannot be masked with a replacement")
        if self._number is None:
            raise DataError(f"{name} is a number, and the replacement {self._given} is none")
        if is_fraction(raw):
            return Raw(repr(float(self._number)).encode())
        return Raw(b"%d" % int(self._number))


MASK_FIELD = Transformation(
    name="MaskField",
    documentation="Replaces values by 0, false, an empty text, array or object, or by a replacement; null stays null.",
    keys=(
        Key("fields", "LIST", "Names of the fields.", importance="HIGH"),
        Key(
            "replacement",
            "STRING",
            "What numbers and texts become; a number where numbers are masked.",
            default=None,
            importance="LOW",
            validator=non_empty,
        ),
        REPLACE_NULL,
    ),
    parts=KEY_OR_VALUE,
    check=not_empty("fields"),
    build=_build,
    fields=of_lists("fields"),
    columns=_columns,
    of_json=True,
)
