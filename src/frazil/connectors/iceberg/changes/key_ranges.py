"""Ranges of keys: which data files can hold one of them, by the bounds that the table has of their columns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from frazil.pipeline.changes import Path

_NUMBERS: dict[type[IcebergType], pa.DataType] = {
    IntegerType: pa.int64(),
    LongType: pa.int64(),
    DateType: pa.int32(),
    TimestampType: pa.int64(),
    TimestamptzType: pa.int64(),
}
"""Types whose bounds are numbers, and the Arrow type that shows values as these numbers."""


class KeyRanges:
    """The values of keys in order, for the columns whose types can be compared with a file's bounds."""

    def __init__(self, schema: Schema, paths: Sequence[Path], values: Sequence[pa.Array]) -> None:
        self._columns: list[tuple[int, PrimitiveType, list[Any]]] = []
        for path, array in zip(paths, values, strict=True):
            field = schema.find_field(".".join(path))
            type_ = field.field_type
            if isinstance(type_, StringType):
                self._columns.append((field.field_id, type_, sorted(array.to_pylist())))
            elif type(type_) in _NUMBERS and isinstance(type_, PrimitiveType):
                numbers = array.cast(_NUMBERS[type(type_)])
                self._columns.append((field.field_id, type_, sorted(numbers.to_pylist())))

    def may_hold(self, file: DataFile) -> bool:
        """Whether a key can be in the file."""
        return all(self._overlap(file, *column) for column in self._columns)

    @staticmethod
    def _overlap(file: DataFile, field_id: int, type_: PrimitiveType, values: list[Any]) -> bool:
        lower, upper = (file.lower_bounds or {}).get(field_id), (file.upper_bounds or {}).get(field_id)
        if lower is None or upper is None:
            return True
        # An upper bound of a long text is a text that is longer or greater than all; both compare as they are.
        first = bisect_left(values, from_bytes(type_, lower))
        return first < len(values) and bool(values[first] <= from_bytes(type_, upper))
