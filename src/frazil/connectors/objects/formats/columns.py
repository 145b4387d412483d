"""Columns for the JSON records of one Parquet file that have no schema: a function of the file's records alone."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from operator import length_hint
from typing import TypeGuard

import arro3.io
import msgspec
import pyarrow as pa

from frazil.pipeline.convert import infer, verdict
from frazil.pipeline.types import Field, List, Scalar, Struct, Type

_WIDE = re.compile(rb"[:\[,]\s*-?[0-9]{16,}")
"""Numbers that may be whole and yet no long, which Arrow takes for fractions."""
_SAMPLE = 100
"""Records whose columns most others have too."""
_NUL = b"\\u0000"
"""Character that ends the task in a name: Arrow hands names to Python as C texts."""
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_SCALARS: dict[pa.DataType, Type] = {
    pa.bool_(): Scalar("boolean"),
    pa.int64(): Scalar("long"),
    pa.float64(): Scalar("double"),
    pa.string(): Scalar("string"),
}


@dataclass(frozen=True)
class Columns:
    """`fitting`: all records were found to fit them as they are."""

    struct: Struct
    fitting: bool


def quick_columns(groups: Iterable[Sequence[bytes]]) -> Columns | None:
    """The columns as Arrow finds them in the first records and in those that do not fit these; None when it cannot say.

    They may not hold all records, which decoding them tells: Arrow chooses one kind for a field that has values of
    several.
    """
    found: Type | None = None
    first: Type | None = None
    fitting = True
    for lines in groups:
        if first is None:
            first = infer.infer(lines[0])
        known = found if isinstance(found, Struct) else _found_by_arrow(lines[:_SAMPLE])
        if known is None:
            return None
        unfit = _unfit(known, lines)
        if unfit:
            more = _found_by_arrow(unfit)
            if more is None:
                return None
            found = infer.merge(known, more)
            fitting = fitting and _only_adds(found, known) and not _unfit(found, unfit)
        else:
            found = known
        if _has_fractions(found) and _has_wide_numbers(b"\n".join(lines)):
            return None
    ordered = _ordered(found, first) if found is not None and _has_names(found) else None
    return Columns(ordered, fitting) if isinstance(ordered, Struct) else None


def _found_by_arrow(lines: Sequence[bytes]) -> Struct | None:
    text = b"\n".join(lines)
    if _NUL in text:
        return None
    try:
        schema = pa.schema(arro3.io.infer_json_schema(BytesIO(text)))
    except Exception:  # arro3 raises no narrower class for values of different kinds
        return None
    return _struct(schema)


def _unfit(columns: Struct, lines: Sequence[bytes]) -> list[bytes]:
    """The records that have other fields or values than the columns."""
    judge = verdict.decoder(columns, forbid_unknown=True)
    unfit: list[bytes] = []
    waiting = iter(lines)
    fitting: deque[object] = deque(maxlen=0)
    while True:
        try:
            fitting.extend(map(judge, waiting))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            unfit.append(lines[len(lines) - length_hint(waiting) - 1])
        else:
            return unfit


def _only_adds(type_: Type | None, before: Type) -> TypeGuard[Struct]:
    """Whether a struct only adds fields to another one: it has all its fields, as they were."""
    if not isinstance(type_, Struct) or not isinstance(before, Struct):
        return False
    now = {field.name: field.type for field in type_.fields}
    return all(
        now.get(field.name) == field.type or _only_adds(now.get(field.name), field.type) for field in before.fields
    )


def exact_columns(groups: Iterable[Sequence[bytes]]) -> Struct:
    """The columns that hold every record: a field with values of different kinds is text.

    An array is of another kind than an object or a number, also when it is empty.
    """
    found: Type | None = None
    for lines in groups:
        for line in lines:
            found = infer.merge(found, infer.infer(line, empties="kinds"))
    found = infer.without_empties(found)
    return found if isinstance(found, Struct) else Struct(())


def _struct(fields: Iterable[pa.Field]) -> Struct | None:
    typed = [(field.name, _type(field.type)) for field in fields]
    known = tuple(Field(name, type_) for name, type_ in typed if type_ is not None)
    return Struct(known) if known else None


def _type(type_: pa.DataType) -> Type | None:
    if pa.types.is_struct(type_):
        return _struct([type_.field(index) for index in range(type_.num_fields)])
    if pa.types.is_list(type_):
        element = _type(type_.value_type)
        return List(element) if element is not None else None
    return _SCALARS.get(type_)


def _has_wide_numbers(text: bytes) -> bool:
    return b"0" * 16 in text.translate(_ZEROS) and _WIDE.search(text) is not None


def _has_fractions(type_: Type | None) -> bool:
    match type_:
        case Struct(fields):
            return any(_has_fractions(field.type) for field in fields)
        case List(element):
            return _has_fractions(element)
        case _:
            return type_ == Scalar("double")


def _has_names(type_: Type) -> bool:
    match type_:
        case Struct(fields):
            return all(field.name and _has_names(field.type) for field in fields)
        case List(element):
            return _has_names(element)
        case _:
            return True


def _ordered(type_: Type, like: Type | None) -> Type:
    """Order the members of a type like those of another one; members that it lacks come last."""
    match type_, like:
        case Struct(fields), Struct(others):
            wanted = {field.name: (number, field.type) for number, field in enumerate(others)}
            last = len(wanted), None
            inner = [replace(f, type=_ordered(f.type, wanted.get(f.name, last)[1])) for f in fields]
            return Struct(tuple(sorted(inner, key=lambda field: wanted.get(field.name, last)[0])))
        case List(element), List(other):
            return List(_ordered(element, other))
        case _:
            return type_
