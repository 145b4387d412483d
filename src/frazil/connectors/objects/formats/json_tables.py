"""Tables from the JSON of the records of one file, for formats that have columns.

What is in a file, and how it is divided into groups, depends on its records alone: a replay writes it again, byte by
byte.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import IO, Any

import msgspec
import numpy as np
import pyarrow as pa

from frazil.connectors.objects.formats.columns import exact_columns, quick_columns
from frazil.pipeline.convert.decode import DecodeSpec, decoder
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.results import NewColumns
from frazil.pipeline.types import STRING, Field, List, Map, Struct, Type, changed

GROUP_BYTES, GROUP_ROWS = 64 << 20, 250_000
"""JSON text and records of a group, at most; one record is always enough for one."""
_CHUNK_ROWS = 4096
"""Records that are read at once: few enough for the processor's cache."""
NAMELESS = "a member has an empty name, which no column can have"
_json = msgspec.json.Decoder().decode
Refused = list[tuple[int, ConversionError]]
"""Positions of records in a file that its columns cannot hold, with the reason."""
WriteTables = Callable[[Struct, Iterator[pa.Table], IO[bytes]], None]
"""Writes a file of some columns from its groups of rows."""


def write_columns(
    open_lines: Callable[[], Iterable[bytes]],
    schema: Struct | None,
    write: WriteTables,
    out: IO[bytes],
    *,
    childless: bool = True,
) -> Refused:
    """Write a file from records that are JSON objects without line feeds.

    `open_lines` reads them from the start, and `out` is empty. `schema` is that of the records, None when they have
    none, and then no member without a name. Nothing of use is written when records are refused. Without `childless`
    the format has no structs without members, and a field that is one, or a list or map of them, is left out.
    """
    lines = open_lines()

    def groups() -> Iterator[Sequence[bytes]]:
        return in_groups(lines if isinstance(lines, list) else open_lines())

    if schema is not None:
        return _write(groups(), _readable(schema, childless), write, out, nameless=partial(_loses, schema))
    quick = quick_columns(groups())
    if quick is not None:
        refused = _write(groups(), quick.struct, write, out, complete=True, fitting=quick.fitting)
        if not refused:
            return refused
        out.seek(0)
        out.truncate()
    return _write(groups(), exact_columns(groups()), write, out)


def in_groups(lines: Iterable[bytes]) -> Iterator[Sequence[bytes]]:
    """The records of each group."""
    if isinstance(lines, list) and 0 < len(lines) <= GROUP_ROWS and sum(map(len, lines)) <= GROUP_BYTES:
        yield lines
        return
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
    write: WriteTables,
    out: IO[bytes],
    *,
    complete: bool = False,
    fitting: bool = False,
    nameless: Callable[[dict[str, Any]], bool] | None = None,
) -> Refused:
    """Write records; with `complete`, those with fields that have no column are refused too; `fitting`: none has.

    `nameless` tells whether a record, as a value of JSON, has a member without a name that would be lost.
    """
    spec = DecodeSpec(struct if struct.fields else Struct((Field("\0", STRING),)), evolve=complete)
    refused: Refused = []

    def tables() -> Iterator[pa.Table]:
        position = 0
        for lines in groups:
            if nameless is not None:
                refused.extend((position + index, error) for index, error in _without_names(lines, nameless))
            table, failed, unknown = decoded(spec, lines, fitting=fitting)
            refused.extend((position + index, error) for index, error in failed)
            if unknown:
                refused.append((position, ConversionError("", "the columns are not those of all records")))
            position += len(lines)
            if refused:
                continue
            if struct.fields:
                yield table
            else:
                yield pa.table({"value": pa.array([line.decode() for line in lines])})

    write(struct if struct.fields else Struct((Field("value", STRING),)), tables(), out)
    return refused


def decoded(spec: DecodeSpec, lines: Sequence[bytes], *, fitting: bool = False) -> tuple[pa.Table, Refused, NewColumns]:
    """The rows of a group in the order of its records, those that were refused, and fields without a column.

    The rows are of use when there are neither. `fitting` is that of `RecordDecoder.decode`.
    """
    tables: list[pa.Table] = []
    refused: Refused = []
    unknown = NewColumns()
    for begin in range(0, len(lines), _CHUNK_ROWS):
        found = decoder(spec).decode(lines[begin : begin + _CHUNK_ROWS], fitting=fitting)
        order = np.argsort(np.asarray(found.positions, np.int64), kind="stable")
        sorted_ = np.array_equal(order, np.arange(len(order)))
        tables.append(found.table if sorted_ else found.table.take(pa.array(order)))
        refused += [(begin + index, error) for index, error in found.rejected]
        unknown.add(NewColumns(found.unknown, found.seen))
    return pa.concat_tables(tables), refused, unknown


def _without_names(lines: Sequence[bytes], nameless: Callable[[dict[str, Any]], bool]) -> Refused:
    """The records that have a member with an empty name, which no column can have."""
    wanted = [index for index, line in enumerate(lines) if b'""' in line]
    return [(index, ConversionError("", NAMELESS)) for index in wanted if nameless(_json(lines[index]))]


def _loses(type_: Type, value: Any) -> bool:
    """Whether a value has a member with an empty name, where its schema has one as a field."""
    match type_:
        case Struct(fields) if isinstance(value, dict):
            return any(
                _loses(field.type, value.get(field.name)) if field.name else value.get("") is not None
                for field in fields
            )
        case List(element) if isinstance(value, list):
            return any(_loses(element, one) for one in value)
        case Map(_, inner) if isinstance(value, dict):
            return any(_loses(inner, one) for one in value.values())
        case _:
            return False


def _readable(type_: Struct, childless: bool) -> Struct:
    """The columns without members that a file cannot have."""

    def readable(name: str, inner: Type) -> Type | None:
        if not name:
            return None
        found = changed(inner, readable)
        return Struct(()) if found is None and childless else found

    found = changed(type_, readable)
    return found if isinstance(found, Struct) else Struct(())
