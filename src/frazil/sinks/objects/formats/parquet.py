"""Parquet files from the JSON of records (object-sinks.md 11).

What is in a file, and how it is divided into row groups, depends on its records alone: a replay writes it again, byte
by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from frazil.pipeline import infer
from frazil.pipeline.decode import DecodeSpec, decoder
from frazil.pipeline.strict import ConversionError
from frazil.pipeline.types import Field, List, Map, Scalar, Struct, Type
from frazil.sinks.objects.fields import type_at
from frazil.sinks.objects.formats.columns import exact_columns, quick_columns

GROUP_BYTES, GROUP_ROWS = 64 << 20, 250_000
"""JSON text and records of a row group, at most; one record is always enough for one."""
_PAGE_BYTES = 64 << 10
_SAMPLE = 100
"""Records whose columns are tried first."""

_NO_FIELDS = "the record has no field, and the table no column yet"

Refused = list[tuple[int, ConversionError]]
"""Positions of records in a file that its columns cannot hold, with the reason."""


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table that files are for, and whether it gets more of them for fields that have none."""

    struct: Struct
    evolves: bool


def write_parquet(
    open_lines: Callable[[], Iterable[bytes]], schema: Struct | None, codec: str, out: IO[bytes]
) -> Refused:
    """Write a file from records that are JSON objects without line feeds.

    `open_lines` reads them from the start, and `out` is empty. `schema` is that of the records, None when they have
    none. Nothing of use is written when records are refused.
    """

    def groups() -> Iterator[Sequence[bytes]]:
        return in_groups(open_lines())

    if schema is not None:
        return _write(groups(), _readable(schema), codec, out)
    for sample in (_SAMPLE, None):
        quick = quick_columns(groups(), sample)
        if quick is None:
            continue
        refused = _write(groups(), quick, codec, out, complete=True)
        if not refused:
            return refused
        out.seek(0)
        out.truncate()
    return _write(groups(), exact_columns(groups()), codec, out)


def write_columns(
    open_lines: Callable[[], Iterable[bytes]], columns: TableColumns, codec: str, out: IO[bytes]
) -> tuple[Refused, Mapping[infer.Path, Type]]:
    """Write a file with the columns of a table, as `write_parquet` does.

    Also gives the fields that the table has no column for, where it can get some: nothing of use is written then.
    """
    unknown: dict[infer.Path, Type] = {}
    refused = _write(in_groups(open_lines()), columns.struct, codec, out, complete=columns.evolves, unknown=unknown)
    return refused, unknown


def in_groups(lines: Iterable[bytes]) -> Iterator[Sequence[bytes]]:
    """The records of each row group."""
    group: list[bytes] = []
    size = 0
    for line in lines:
        if group and (size + len(line) > GROUP_BYTES or len(group) >= GROUP_ROWS):
            yield group
            group, size = [], 0
        group.append(line)
        size += len(line)
    if group:
        yield group


def _write(
    groups: Iterator[Sequence[bytes]],
    struct: Struct,
    codec: str,
    out: IO[bytes],
    *,
    complete: bool = False,
    unknown: dict[infer.Path, Type] | None = None,
) -> Refused:
    """With `complete` records with fields that have no column are refused too, or put into `unknown`."""
    spec = DecodeSpec(struct if struct.fields else Struct((Field("\0", Scalar("string")),)), evolve=complete)
    refused: Refused = []
    writer: pq.ParquetWriter | None = None
    position = 0
    try:
        for lines in groups:
            decoded = decoder(spec).decode(lines)
            refused += [(position + index, error) for index, error in decoded.rejected]
            if decoded.unknown and unknown is None:
                refused.append((position, ConversionError("", "the columns are not those of all records")))
            elif decoded.unknown and unknown is not None:
                refused += _too_narrow(spec, lines, position, decoded.unknown, unknown)
            elif not struct.fields and unknown is not None:
                refused += [(position + index, ConversionError("", _NO_FIELDS)) for index in range(len(lines))]
            position += len(lines)
            if refused or unknown:
                continue
            table = _in_order(decoded.table, decoded.positions)
            if not struct.fields:
                table = pa.table({"value": pa.array([line.decode() for line in lines])})
            if writer is None:
                writer = _open(table.schema, codec, out)
            writer.write_table(table, row_group_size=max(len(lines), 1))
    finally:
        if writer is not None:
            writer.close()
    return refused


def _too_narrow(
    spec: DecodeSpec,
    lines: Sequence[bytes],
    position: int,
    found: Mapping[infer.Path, Type],
    unknown: dict[infer.Path, Type],
) -> Refused:
    """Note the fields that have no column; the records whose numbers are too large for the column that they have."""
    missing = {path: type_ for path, type_ in found.items() if type_at(spec.struct, ".".join(path)) is None}
    unknown.update(infer.merge_all([unknown, missing]))
    if len(missing) == len(found):
        return []
    rejected = decoder(replace(spec, evolve=False)).decode(lines).rejected
    return [(position + index, error) for index, error in rejected]


def _open(schema: pa.Schema, codec: str, out: IO[bytes]) -> pq.ParquetWriter:
    compression = {"none": "NONE", "lz4_raw": "LZ4"}.get(codec, codec.upper())
    return pq.ParquetWriter(
        pa.PythonFile(out, "w"), schema, compression=compression, data_page_size=_PAGE_BYTES, store_schema=False
    )


def _in_order(table: pa.Table, positions: Sequence[int]) -> pa.Table:
    order = np.argsort(np.asarray(positions, np.int64), kind="stable")
    return table if np.array_equal(order, np.arange(len(order))) else table.take(pa.array(order))


def _readable(type_: Struct) -> Struct:
    """The columns with decimals of at most 38 digits and members that a Parquet file can have."""

    def readable(inner: Type) -> Type:
        match inner:
            case Struct(fields):
                return Struct(tuple(Field(f.name, readable(f.type), f.required) for f in fields if f.name))
            case List(element):
                return List(readable(element))
            case Map(key, value):
                return Map(key, readable(value))
            case _:
                return inner

    found = readable(type_)
    assert isinstance(found, Struct)  # noqa: S101 - as it was
    return found
