"""Parquet files with the columns of a table, from the JSON of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO

import pyarrow as pa

from frazil.pipeline import infer
from frazil.pipeline.decode import DecodeSpec, decoder
from frazil.pipeline.strict import ConversionError
from frazil.pipeline.types import STRING, Field, Struct, Type
from frazil.sinks.objects.fields import type_at
from frazil.sinks.objects.formats.parquet import tables_writer
from frazil.sinks.objects.formats.tables import Refused, in_groups, in_order

_NO_FIELDS = "the record has no field, and the table no column yet"


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table that files are for, and whether it gets more of them for fields that have none."""

    struct: Struct
    evolves: bool


def write_table_file(
    open_lines: Callable[[], Iterable[bytes]], columns: TableColumns, codec: str, out: IO[bytes]
) -> tuple[Refused, Mapping[infer.Path, Type]]:
    """Write a file from records that are JSON objects without line feeds.

    Gives the records that the columns cannot hold, and the fields that have no column where the table can get some;
    with either of them nothing of use is written.
    """
    struct = columns.struct
    spec = DecodeSpec(struct if struct.fields else Struct((Field("\0", STRING),)), evolve=columns.evolves)
    refused: Refused = []
    unknown: dict[infer.Path, Type] = {}

    def tables() -> Iterator[pa.Table]:
        position = 0
        for lines in in_groups(open_lines()):
            decoded = decoder(spec).decode(lines)
            refused.extend((position + index, error) for index, error in decoded.rejected)
            if decoded.unknown:
                refused.extend(_too_narrow(spec, lines, position, decoded.unknown, unknown))
            elif not struct.fields:
                refused.extend((position + index, ConversionError("", _NO_FIELDS)) for index in range(len(lines)))
            position += len(lines)
            if not refused and not unknown:
                yield in_order(decoded.table, decoded.positions)

    tables_writer(codec)(struct, tables(), out)
    return refused, unknown


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
