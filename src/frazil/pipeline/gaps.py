"""Values that Debezium leaves out of an update because they have not changed (TOAST).

A text stands in their place, which is never stored. The value is the one that the row had before: that of an earlier
change of the batch, else that of the table. So a batch with such gaps is read twice: the first time tells which rows
are wanted, the second time has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.pipeline.changes import Path
from frazil.pipeline.convert.decode import Decoded
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.keys import Keys, columns_of
from frazil.pipeline.transforms.plugin import CURRENT

PLACEHOLDER = "__debezium_unavailable_value"
_NOT_SENT = (
    "Debezium did not send the value, since it has not changed and PostgreSQL keeps it apart (TOAST), and the table "
    "has no row with this key that would have it; with REPLICA IDENTITY FULL on the table it is sent"
)

_Row = dict[str, str | None]


@dataclass(frozen=True)
class WantedRows:
    """Rows of the table that are needed to fill gaps: their keys, under numbers as names, and the columns with gaps."""

    keys: pa.Table
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Before:
    """Rows as they were before the batch: their key columns, under numbers as names, and the columns with gaps."""

    wanted: WantedRows
    rows: pa.Table


def all_wanted(several: Sequence[WantedRows]) -> WantedRows:
    """Combine the rows that several batches or tasks want."""
    columns = tuple(sorted({name for each in several for name in each.columns}))
    return WantedRows(pa.concat_tables([each.keys for each in several]), columns)


class GapFiller:
    """Fills gaps in the changes of one task, in the order in which they came.

    Without `before` it notes what the rows want; with it, it fills the gaps, or refuses the record. With `versions`
    each row wants the one before it.
    """

    def __init__(self, keys: tuple[Path, ...], before: Before | None, *, versions: bool = False) -> None:
        self.wanted: list[WantedRows] = []
        self._paths = keys
        self._before = before
        self._versions = versions
        self._columns: tuple[str, ...] = ()
        self._last: dict[int, _Row] = {}
        if before is not None:
            self._columns = before.wanted.columns
            self._keys = Keys(before.wanted.keys)
            rows = before.rows.filter(before.rows.column(CURRENT)) if versions else before.rows
            codes = self._keys.find(rows.select(before.wanted.keys.column_names))
            values = rows.select(self._columns).to_pylist()
            self._last = dict(zip(codes.tolist(), values, strict=True))

    def fill(self, decoded: Decoded, deleted: str) -> Decoded:
        """Fill the gaps of changes; `deleted` is the column that says whether a change deletes its row."""
        if self._before is None:
            self._note(decoded)
            return decoded
        if not self._columns:
            return decoded
        table = decoded.table
        codes = self._keys.find(columns_of(table, self._paths))
        here = np.flatnonzero(codes >= 0)
        here = here[np.argsort(np.asarray(decoded.positions, np.int64)[here], kind="stable")]
        if not len(here):
            return decoded
        rows = table.select([*self._columns, deleted]).take(pa.array(here)).to_pylist()
        filled: dict[str, dict[int, str | None]] = {name: {} for name in self._columns}
        failed: dict[int, str] = {}
        left: tuple[int, _Row | None] = -1, None
        for index, row in zip(here.tolist(), rows, strict=True):
            code, position = int(codes[index]), decoded.positions[index]
            if row.pop(deleted):
                left = position, self._last.pop(code, None)
                continue
            gaps = [name for name in self._columns if row[name] == PLACEHOLDER]
            last = left[1] if left[0] == position else self._last.get(code)
            if gaps and last is None:
                failed[index] = gaps[0]
                continue
            for name in gaps:
                row[name] = filled[name][index] = last[name] if last is not None else None
            self._last[code] = row
        for name, values in filled.items():
            table = _replaced(table, name, values)
        return _without(replace(decoded, table=table), failed)

    def _note(self, decoded: Decoded) -> None:
        table = decoded.table
        hits = {name: mask for name in table.column_names if (mask := _gaps(table, name)) is not None}
        if hits and not self._versions:
            any_hit = np.logical_or.reduce(list(hits.values()))
            places = np.asarray(decoded.positions, np.int64)
            table = table.filter(pa.array(np.isin(places, places[any_hit])))  # the former row of the same record too
        if hits or (self._versions and table.num_rows):
            self.wanted.append(WantedRows(columns_of(table, self._paths).combine_chunks(), tuple(hits)))


def _gaps(table: pa.Table, name: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Mark the rows with a gap in a column; None when there is none."""
    if not pa.types.is_string(table.schema.field(name).type):
        return None
    hits = pc.equal(table.column(name), PLACEHOLDER).fill_null(False)
    return hits.to_numpy() if pc.any(hits).as_py() else None


def _replaced(table: pa.Table, name: str, values: dict[int, str | None]) -> pa.Table:
    if not values:
        return table
    place = table.schema.get_field_index(name)
    mask = np.zeros(table.num_rows, bool)
    mask[list(values)] = True
    field, column = table.schema.field(place), table.column(place).combine_chunks()
    news = pa.array([values[index] for index in sorted(values)], field.type)
    return table.set_column(place, field, pc.replace_with_mask(column, pa.array(mask), news))


def _without(decoded: Decoded, failed: dict[int, str]) -> Decoded:
    """Move rows to the rejected ones; `failed` has the column of each."""
    if not failed:
        return decoded
    good = [index for index in range(decoded.table.num_rows) if index not in failed]
    errors = [(decoded.positions[index], ConversionError(name, _NOT_SENT)) for index, name in failed.items()]
    return replace(
        decoded,
        table=decoded.table.take(pa.array(good, pa.int64())),
        rejected=[*decoded.rejected, *errors],
        positions=[decoded.positions[index] for index in good],
    )
