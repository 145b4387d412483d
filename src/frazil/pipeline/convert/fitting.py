"""Columns of records, of the types that their schemas say, in the types of a table's columns.

What a row gets is what the strict converter would make of the record. Values for which that takes a closer look make
their row need care; where a column would need one for every value, there is no fitting.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.pipeline.convert import origins, temporal
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.types import Field, List, Map, Scalar, Struct, Type

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Care: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Fit: TypeAlias = Callable[[pa.Array, Ints, Care], pa.Array]
"""Makes a column; `rows` are the rows of the values, those that need care get their mark."""

_SAME = {
    "boolean": ("boolean",),
    "int": ("int", "date", "time"),
    "long": ("long", "timestamptz", "int", "date", "time"),
    "float": ("float",),
    "double": ("double",),
    "string": ("string",),
    "binary": ("binary",),
}
"""Kinds of columns, and the kinds of values that are theirs as they are; times are whole numbers."""
_WIDTH = {"int": 32, "date": 32, "time": 32, "long": 64, "timestamptz": 64}
_NANOS = (-(1 << 63), (1 << 63) - 1)


def fitted(struct: pa.StructArray, fit: Fit, spec: DecodeSpec) -> tuple[pa.Table, Ints]:
    """Make rows of a table; also the numbers of those that need care, which have no row."""
    care = np.zeros(len(struct), bool)
    columns = fit(struct, np.arange(len(struct)), care)
    table = pa.table(columns.flatten(), schema=arrow_schema(spec.struct))
    return (table.filter(pa.array(~care)), np.flatnonzero(care)) if care.any() else (table, np.flatnonzero(care))


@lru_cache(maxsize=1024)
def fitting(shape: Struct, spec: DecodeSpec) -> Fit | None:
    """Find the fitting for records of a schema; None where there is none."""
    if spec.mapper is not None:
        return None
    schema = pa.struct(list(arrow_schema(spec.struct)))
    return _Compiler(spec).struct(spec.struct, shape, schema)


class _Compiler:
    def __init__(self, spec: DecodeSpec) -> None:
        self._any_case = spec.any_case
        self._legacy = spec.legacy

    def _fit(self, column: Type, shape: Type, wanted: pa.DataType) -> Fit | None:
        match column, shape:
            case Struct(), Struct():
                return self.struct(column, shape, wanted)
            case List(element, required), List(items):
                return self._list(self._fit(element, items, wanted.value_type), required, wanted)
            case Map(key, value, required), Map(keys, values) if key == keys == Scalar("string"):
                return self._map(self._fit(value, values, wanted.item_type), required, wanted)
            case Scalar(), Scalar():
                return self._scalar(column, shape, wanted)
            case _:
                return None

    def struct(self, column: Struct, shape: Struct, wanted: pa.DataType) -> Fit | None:
        """Make the fitting of structs; None where a column has none, or two members."""
        fold = str.lower if self._any_case else str
        places: dict[str, list[int]] = {}
        for place, member in enumerate(shape.fields):
            places.setdefault(fold(member.name), []).append(place)
        members: list[tuple[Field, int | None, Fit | None]] = []
        for number, field in enumerate(column.fields):
            found = [place for name in field.members for place in places.get(fold(name), ())]
            if len(found) > 1 or (not found and field.required):
                return None
            if not found:
                members.append((field, None, None))
                continue
            fit = self._fit(field.type, shape.fields[found[0]].type, wanted[number].type)
            if fit is None:
                return None
            members.append((field, found[0], fit))
        fields = list(wanted)

        def struct(array: pa.Array, rows: Ints, care: Care) -> pa.Array:
            mask = array.is_null() if array.null_count else None
            arrays = []
            for (field, place, fit), arrow in zip(members, fields, strict=True):
                if place is None or fit is None:
                    arrays.append(pa.nulls(len(array), arrow.type))
                    continue
                values = array.field(place)
                if field.required and values.null_count:
                    missing = values.is_null() if mask is None else pc.and_not(values.is_null(), mask)
                    _mark(missing, rows, care)
                arrays.append(fit(values, rows, care))
            return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)

        return struct if members else None

    def _list(self, inner: Fit | None, required: bool, wanted: pa.DataType) -> Fit | None:
        if inner is None:
            return None

        def list_(array: pa.Array, rows: Ints, care: Care) -> pa.Array:
            offsets, owners, values = _opened(array, array.values, rows)
            if required and values.null_count:
                _mark(values.is_null(), owners, care)
            return pa.ListArray.from_arrays(offsets, inner(values, owners, care), type=wanted, mask=_nulls(array))

        return list_

    def _map(self, inner: Fit | None, required: bool, wanted: pa.DataType) -> Fit | None:
        if inner is None:
            return None

        def map_(array: pa.Array, rows: Ints, care: Care) -> pa.Array:
            offsets, owners, values = _opened(array, array.items, rows)
            keys = array.keys.slice(array.offsets[0].as_py(), len(values))
            if required and values.null_count:
                _mark(values.is_null(), owners, care)
            return pa.MapArray.from_arrays(offsets, keys, inner(values, owners, care), type=wanted, mask=_nulls(array))

        return map_

    def _scalar(self, column: Scalar, shape: Scalar, wanted: pa.DataType) -> Fit | None:
        if shape.kind in _SAME.get(column.kind, ()):
            narrow = _WIDTH.get(column.kind, 0) != _WIDTH.get(shape.kind, 0)
            return (lambda array, rows, care: array.cast(wanted)) if narrow else (lambda array, rows, care: array)
        if column.kind == "decimal" and shape.kind == "decimal" and not self._legacy:
            return _decimal(column, shape, wanted)
        if column.kind == "int" and shape.kind == "long" and not self._legacy:
            return _narrow(wanted)
        if column.kind == "fixed" and shape.kind == "binary":
            return _fixed(column.length, wanted)
        return _time(column, shape, wanted)


def _mark(values: pa.Array, rows: Ints, care: Care) -> None:
    """Mark the rows of values for which it is true."""
    care[rows[values.to_numpy(zero_copy_only=False)]] = True


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _opened(array: pa.Array, values: pa.Array, rows: Ints) -> tuple[pa.Array, Ints, pa.Array]:
    """Give the places of elements from zero on, the rows of the elements, and the elements."""
    offsets = array.offsets.to_numpy()
    begin, end = int(offsets[0]), int(offsets[-1])
    return pa.array(offsets - begin), np.repeat(rows, np.diff(offsets)), values.slice(begin, end - begin)


def _decimal(column: Scalar, shape: Scalar, wanted: pa.DataType) -> Fit | None:
    """Fit numbers with no more digits behind the point than the column has; others in front of it make care."""
    if shape.scale > column.scale:
        return None
    most = min(column.precision - column.scale + shape.scale, shape.precision)
    bound = pa.scalar(10**most, pa.decimal128(38, 0)) if most < shape.precision else None

    def decimal(array: pa.Array, rows: Ints, care: Care) -> pa.Array:
        if bound is not None:
            unscaled = pa.Array.from_buffers(pa.decimal128(38, 0), len(array), array.buffers(), offset=array.offset)
            array = _without(array, pc.greater_equal(pc.abs(unscaled), bound), rows, care)
        return array.cast(wanted)

    return decimal


def _narrow(wanted: pa.DataType) -> Fit:
    """Fit whole numbers of 32 bits."""

    def narrow(array: pa.Array, rows: Ints, care: Care) -> pa.Array:
        return _within(array, -(1 << 31), (1 << 31) - 1, rows, care).cast(wanted)

    return narrow


def _within(values: pa.Array, low: int, high: int, rows: Ints, care: Care) -> pa.Array:
    """Put null in place of numbers beyond limits, which make care."""
    found = pc.min_max(values)
    least, most = found["min"].as_py(), found["max"].as_py()
    if least is None or low <= least <= most <= high:
        return values
    return _without(values, pc.or_(pc.less(values, low), pc.greater(values, high)), rows, care)


def _without(values: pa.Array, wrong: pa.Array, rows: Ints, care: Care) -> pa.Array:
    """Put null in place of the values that are wrong, which make care."""
    if not pc.any(wrong).as_py():
        return values
    _mark(wrong.fill_null(False), rows, care)
    return pc.if_else(wrong, pa.scalar(None, values.type), values)


def _fixed(length: int, wanted: pa.DataType) -> Fit:
    def fixed(array: pa.Array, rows: Ints, care: Care) -> pa.Array:
        return _without(array, pc.not_equal(pc.binary_length(array), length), rows, care).cast(wanted)

    return fixed


def _time(column: Scalar, shape: Scalar, wanted: pa.DataType) -> Fit | None:
    """Fit numbers whose schema says which time they are, with its unit."""
    unit = origins.unit_for(column, shape)
    if unit is None or shape.kind not in _WIDTH:
        return None
    nanos = {"date": temporal.NANOS_PER_DAY, "time": 1000}.get(column.kind, 1 if column.kind.endswith("_ns") else 1000)
    factor, divisor = max(unit // nanos, 1), max(nanos // unit, 1)
    low, high = _limits(column.kind, unit)
    storage = pa.int32() if column.kind == "date" else pa.int64()

    def time(array: pa.Array, rows: Ints, care: Care) -> pa.Array:
        values = _within(array.cast(pa.int64()), low, high, rows, care)
        if factor > 1:
            values = pc.multiply(values, factor)
        elif divisor > 1:
            values = _floor_divided(values, divisor)
        return values.cast(storage).view(wanted)

    return time


def _limits(kind: str, unit: int) -> tuple[int, int]:
    """The first and the last number in units of so many nanoseconds that a column of times takes."""
    if kind == "time":
        return 0, (temporal.NANOS_PER_DAY - 1) // unit
    low = temporal.FIRST_DAY * temporal.NANOS_PER_DAY
    high = (temporal.LAST_DAY + 1) * temporal.NANOS_PER_DAY - 1
    if kind.endswith("_ns"):
        low, high = max(low, _NANOS[0]), min(high, _NANOS[1])
    return max(-(-low // unit), _NANOS[0]), min(high // unit, _NANOS[1])


def _floor_divided(values: pa.Array, divisor: int) -> pa.Array:
    nulls = values.is_null()
    numbers = values.fill_null(0).to_numpy() // divisor
    return pa.array(numbers, mask=nulls.to_numpy(zero_copy_only=False) if values.null_count else None)
