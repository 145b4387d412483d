"""Row keys: which rows have equal keys, and which rows of other tables have one of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Codes = np.ndarray[Any, np.dtype[np.int64]]
"""A number per row; equal keys have equal numbers, and -1 is a key that is not among those looked for."""


class Keys:
    """The distinct keys of a table that has nothing but key columns; picklable.

    Values are compared as Arrow stores them, so a key is a scalar and no floating-point number. A null equals nothing.
    """

    def __init__(self, table: pa.Table) -> None:
        self._values: list[pa.Array] = []
        self._pairs: list[Codes] = []
        codes: Codes = np.zeros(table.num_rows, np.int64)
        for number, column in enumerate(table.columns):
            array = _plain(column)
            values = array.unique().drop_null()
            here = _positions(array, values)
            self._values.append(values)
            if number:
                pairs, codes = np.unique(_paired(codes, here, len(values)), return_inverse=True)
                self._pairs.append(pairs)
            else:
                codes = here
        self.codes: Codes = codes.astype(np.int64)

    def find(self, table: pa.Table) -> Codes:
        """Look up the code of each row's key; the table has the same key columns and nothing else."""
        codes: Codes = np.zeros(table.num_rows, np.int64)
        for number, (column, values) in enumerate(zip(table.columns, self._values, strict=True)):
            here = _positions(_plain(column), values)
            codes = _looked_up(self._pairs[number - 1], _paired(codes, here, len(values))) if number else here
        return codes

    def values(self) -> Sequence[pa.Array]:
        """Give the distinct values of each key column."""
        return self._values


def columns_of(table: pa.Table, paths: Iterable[Sequence[str]]) -> pa.Table:
    """Take the key columns, nested ones too, under numbers as names."""
    found = []
    for name, *inside in paths:
        column = table.column(name)
        found.append(pc.struct_field(column, inside) if inside else column)
    return pa.table(found, names=[str(number) for number in range(len(found))])


def _plain(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _positions(array: pa.Array, values: pa.Array) -> Codes:
    """Find the position of each element among the values; -1 for null and what is not among them."""
    if array.type != values.type:
        array = array.cast(values.type)
    found = pc.index_in(array, value_set=values).fill_null(-1)
    positions: Codes = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return positions


def _paired(left: Codes, right: Codes, size: int) -> Codes:
    """Combine two codes into one; both sides are dense, so it stays far below 2^63."""
    return np.where((left < 0) | (right < 0), -1, left * size + right)


def _looked_up(pairs: Codes, wanted: Codes) -> Codes:
    codes = np.full(len(wanted), -1, np.int64)
    candidates = np.flatnonzero(wanted >= 0)
    if len(pairs) and len(candidates):
        places = np.minimum(np.searchsorted(pairs, wanted[candidates]), len(pairs) - 1)
        hit = pairs[places] == wanted[candidates]
        codes[candidates[hit]] = places[hit]
    return codes
