"""Arrow columns to Python values."""

import struct
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil.sql.translation.literals import zone_of
from frazil.sql.translation.twins import relabelled
from frazil.sql.translation.types import DAY_INTERVAL, MONTH_INTERVAL, REAL, Type


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """Values of a column: maps as dict, nanoseconds (no Python type has them) as ISO text.

    Where a map of the column has a key twice, all its maps are lists of pairs, so that nothing is lost.
    """
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return [None if value is None else value.replace(" ", "T") for value in column.cast(pa.string()).to_pylist()]
    try:
        values = column.to_pylist(maps_as_pydicts="strict")
    except KeyError:
        values = column.to_pylist()
    return list(values)


def with_names(table: pa.Table, columns: Sequence[str], types: Sequence[Type]) -> pa.Table:
    """An answer under the names of its columns and fields that the statement has in Trino."""
    fields = zip(table.schema, columns, types, strict=True)
    schema = pa.schema([field.with_name(name).with_type(_named(field.type, kind)) for field, name, kind in fields])
    return pa.Table.from_batches([relabelled(batch, schema) for batch in table.to_batches()], schema)


def _named(arrow: pa.DataType, kind: Type) -> pa.DataType:
    if isinstance(arrow, pa.StructType) and len(arrow) == len(kind.fields):
        parts = zip(arrow, kind.fields, kind.args, strict=True)
        return pa.struct([field.with_name(name).with_type(_named(field.type, inner)) for field, name, inner in parts])
    if isinstance(arrow, pa.MapType):
        return pa.map_(_named(arrow.key_type, kind.args[0]), _named(arrow.item_type, kind.args[1]))
    if isinstance(arrow, pa.ListType | pa.LargeListType):
        made = pa.list_ if isinstance(arrow, pa.ListType) else pa.large_list
        return made(_named(arrow.value_type, kind.args[0]))
    return arrow


def typed_rows(table: pa.Table, types: Sequence[Type]) -> list[tuple[Any, ...]]:
    """Rows of Python values of the types that the statement has in Trino."""
    columns = []
    for column, kind in zip(table.columns, types, strict=True):
        change = _change(kind)
        values = python_values(column)
        columns.append(values if change is None else [None if value is None else change(value) for value in values])
    return list(zip(*columns, strict=True)) if columns else []


def _change(kind: Type) -> Callable[[Any], Any] | None:
    """Conversion of a value to what Trino shows."""
    if kind.name == "timestamptz" and kind.zone != "UTC":
        zone = zone_of(kind.zone)[1]
        return lambda moment: moment.astimezone(zone) if isinstance(moment, datetime) else moment
    if kind == REAL:
        return shortest_real
    if kind == DAY_INTERVAL:
        return lambda span: day_interval((span.days * 86_400_000_000 + span.nanoseconds // 1000) // 1000)
    if kind == MONTH_INTERVAL:
        return lambda span: month_interval(span.months)
    if kind.name == "array" and (inner := _change(kind.args[0])) is not None:
        return lambda items: [None if item is None else inner(item) for item in items]
    return None


def shortest_real(value: float) -> float:
    """A real as the double with the fewest digits that is this real, as `0.1` and not `0.10000000149011612`."""
    for digits in range(6, 9):
        candidate = float(f"{value:.{digits}g}")
        try:
            if struct.unpack("f", struct.pack("f", candidate))[0] == value:
                return candidate
        except OverflowError:
            continue
    return float(f"{value:.9g}")


def day_interval(milliseconds: int) -> str:
    """An interval day to second in Trino's form, `2 03:04:05.321`."""
    sign, left = ("-", -milliseconds) if milliseconds < 0 else ("", milliseconds)
    seconds, fraction = divmod(left, 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{sign}{days} {hour:02}:{minute:02}:{second:02}.{fraction:03}"


def month_interval(months: int) -> str:
    """An interval year to month in Trino's form, `1-2`."""
    sign, left = ("-", -months) if months < 0 else ("", months)
    return f"{sign}{left // 12}-{left % 12}"


def column_at(table: pa.Table, path: str) -> pa.ChunkedArray:
    """The column at a path such as `callInfo.httpStatusCode`; a field of a null struct is null."""
    first, *rest = path.split(".")
    column = table.column(first)
    return pc.struct_field(column, rest) if rest else column


def rows_of(columns: list[pa.ChunkedArray]) -> list[tuple[Any, ...]]:
    """Rows of Python values of columns of one length."""
    return list(zip(*map(python_values, columns), strict=True))
