"""Operations of many changes at once: which of them delete their rows."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.pipeline.changes import Path, delete_reader, is_delete
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.transforms.unread import Unread
from frazil.pipeline.types import Scalar, Struct, Type
from frazil.pipeline.values import Columns, Ints, Part

Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

_NEVER = ("boolean", "int", "long", "float", "double", "decimal", "date", "time", "timestamptz")
"""Kinds of values that are no letter D, whatever they are."""
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Divided:
    """Numbers of changes: those that delete their rows, those that do not, and those to be looked at one by one."""

    deletes: Ints
    others: Ints
    left: Ints


def divided(part: Part, path: Path | None) -> Divided:
    """Divide changes by the field of a path, which tells deletes; without one nothing does."""
    everything = np.arange(len(part))
    if path is None:
        return Divided(_NONE, everything, _NONE)
    if isinstance(part, Columns):
        flags = _flags(part.struct, part.shape, path)
        return _split(flags) if flags is not None else Divided(_NONE, _NONE, everything)
    if isinstance(part, Unread) and part.keeps(path[0]):
        return _of_json(part, path)
    return Divided(_NONE, _NONE, everything)


def _split(flags: Flags) -> Divided:
    return Divided(np.flatnonzero(flags), np.flatnonzero(~flags), _NONE)


def _flags(array: pa.Array, shape: Type, path: Path) -> Flags | None:
    """Flag the deletes; None where each record has to be looked at."""
    for name in path:
        if not isinstance(shape, Struct):
            return None
        places = [place for place, field in enumerate(shape.fields) if field.name == name]
        if not places:
            return np.zeros(len(array), bool)
        array, shape = pc.struct_field(array, places[-1:]), shape.fields[places[-1]].type
    if isinstance(shape, Scalar) and shape.kind in _NEVER:
        return np.zeros(len(array), bool)
    if not isinstance(shape, Scalar) or shape.kind != "string":
        return None
    encoded = array.dictionary_encode()
    known = np.array([is_delete(text) for text in encoded.dictionary.to_pylist()] + [False])
    flags: Flags = known[encoded.indices.fill_null(len(known) - 1).to_numpy()]
    return flags


def _of_json(part: Unread, path: Path) -> Divided:
    deletes = delete_reader(path)
    flags, left = np.zeros(len(part), bool), np.zeros(len(part), bool)
    for number in range(len(part)):
        value = part.value(number)
        try:
            flags[number] = value is not None and deletes(value)
        except ConversionError:
            left[number] = True
    return Divided(np.flatnonzero(flags), np.flatnonzero(~flags & ~left), np.flatnonzero(left))
