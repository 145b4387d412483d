"""Changes to rows with a key: what each record does to its row, and which change of a key is the last one.

Two changes of a key in one partition of a topic are ordered by their offsets. Kafka gives no order across partitions:
there the one with the later Kafka timestamp is the last, then the one of the later topic and partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.convert.decode import Decoded, DecodeSpec, RecordDecoder
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.keys import Codes
from frazil.pipeline.route import CARE, field_reader, walk
from frazil.pipeline.rows import Rows
from frazil.pipeline.types import Field, Scalar, Struct

Path = tuple[str, ...]

DELETED = "frazil.deleted"
TOPIC = "frazil.topic"
PARTITION = "frazil.partition"
OFFSET = "frazil.offset"
TIMESTAMP = "frazil.timestamp"
PLACE = (TOPIC, PARTITION, OFFSET, TIMESTAMP)
"""Columns beside those of the table: whether the record deletes its row, and where in Kafka it stands."""

_DELETE = "D"
_SHORT = 64
"""Bytes of the JSON of an operation, of which the same few come again and again."""
_NO_KEYS = ("float", "double")


@dataclass(frozen=True)
class ChangeSpec:
    """Conversion of records to changes: paths of the key columns, and of the field that tells deletes, if one does.

    `notes` are columns about the change, which a delete has too. With `log` a change is a row, and with `versions` it
    begins one, in place of changing one.
    """

    keys: tuple[Path, ...]
    operation: Path | None
    notes: tuple[str, ...] = ()
    log: bool = False
    versions: bool = False

    @property
    def of_deletes(self) -> tuple[Path, ...]:
        """The columns that every change has."""
        return (*self.keys, *((name,) for name in self.notes))


def key_error(struct: Struct, path: Path) -> str:
    """Say why a column of the table cannot be a key column; empty when it can."""
    found: Any = struct
    for name in path:
        fields = found.fields if isinstance(found, Struct) else ()
        inner = next((f.type for f in fields if f.name == name), None)
        if inner is None:
            return "there is no such column"
        found = inner
    if not isinstance(found, Scalar):
        return f"its type is {found}, and rows are found by single values only"
    return f"its type is {found.kind}, whose values are not exact" if found.kind in _NO_KEYS else ""


def with_required_keys(struct: Struct, keys: Sequence[Path]) -> Struct:
    """Make the key columns required, so that a record without one of them is refused."""

    def required(part: Struct, paths: Sequence[Path]) -> Struct:
        fields = tuple(_required(f, [p[1:] for p in paths if p[0] == f.name]) for f in part.fields)
        return replace(part, fields=fields)

    def _required(field_: Field, inside: Sequence[Path]) -> Field:
        if not inside:
            return field_
        deeper = [path for path in inside if path]
        type_ = required(field_.type, deeper) if deeper and isinstance(field_.type, Struct) else field_.type
        return replace(field_, required=True, firm=True, type=type_)

    return required(struct, keys)


def only_keys(struct: Struct, keys: Sequence[Path]) -> Struct:
    """Keep the key columns alone: nothing else of a deleted row is known for sure."""

    def part(of: Struct, paths: Sequence[Path]) -> Struct:
        kept = []
        for f in of.fields:
            inside = [path[1:] for path in paths if path[0] == f.name]
            deeper = [path for path in inside if path]
            if inside:
                kept.append(replace(f, type=part(f.type, deeper)) if deeper and isinstance(f.type, Struct) else f)
        return replace(of, fields=tuple(kept))

    return part(struct, keys)


@lru_cache(maxsize=16)
def change_decoder(spec: DecodeSpec, changes: ChangeSpec) -> ChangeDecoder:
    """The decoder for a spec; equal specs share one in a Python worker."""
    return ChangeDecoder(spec, changes)


class ChangeDecoder:
    """Decodes records as changes: rows of the table with a column DELETED, deletes with nothing but their keys.

    Deletes stand first: where one record brings several changes, it brings no delete of what it has inserted.
    """

    def __init__(self, spec: DecodeSpec, changes: ChangeSpec) -> None:
        struct = with_required_keys(spec.struct, changes.of_deletes)
        self._schema = arrow_schema(spec.struct)
        self._rows = RecordDecoder(replace(spec, struct=struct))
        self._deletes = RecordDecoder(replace(spec, struct=only_keys(struct, changes.of_deletes), evolve=False))
        self._deletes_row = delete_reader(changes.operation) if changes.operation else None

    def decode(self, rows: Sequence[bytes | None]) -> Decoded:
        """Decode the values of consecutive records; `positions` of the result says where each row was among them."""
        failed: list[tuple[int, ConversionError]] = []
        deletes: list[int] = []
        others: list[int] = []
        for index, value in enumerate(rows):
            try:
                deleted = value is not None and self._deletes_row is not None and self._deletes_row(value)
            except ConversionError as error:
                failed.append((index, error))
                continue
            (deletes if deleted else others).append(index)
        kept = self._part(self._rows, rows, others, deleted=False)
        gone = self._part(self._deletes, rows, deletes, deleted=True)
        return Decoded(
            pa.concat_tables([gone.table, kept.table]),
            sorted([*failed, *kept.rejected, *gone.rejected], key=lambda one: one[0]),
            [*kept.skipped, *gone.skipped],
            kept.unknown,
            kept.absent,
            [*gone.positions, *kept.positions],
            kept.seen,
        )

    def _part(
        self, decoder: RecordDecoder, rows: Sequence[bytes | None], places: Sequence[int], *, deleted: bool
    ) -> Decoded:
        decoded = decoder.decode([rows[place] for place in places])
        return Decoded(
            marked(decoded.table, self._schema, deleted=deleted),
            [(places[index], error) for index, error in decoded.rejected],
            [places[index] for index in decoded.skipped],
            decoded.unknown,
            decoded.absent,
            [places[index] for index in decoded.positions],
            decoded.seen,
        )


def marked(table: pa.Table, schema: pa.Schema, *, deleted: bool) -> pa.Table:
    """Make changes of rows that have all columns of a table, or some of them."""
    arrays = [_widened(table, f) for f in schema]
    return pa.table(
        [*arrays, pa.repeat(pa.scalar(deleted), table.num_rows)],
        schema=pa.schema([*schema, pa.field(DELETED, pa.bool_())]),
    )


def _widened(of: pa.Table | pa.StructArray, wanted: pa.Field) -> pa.Array:
    """Take a column in the shape that the table has; nulls where the records have no such column or member."""
    if isinstance(of, pa.Table):
        if wanted.name not in of.column_names:
            return pa.nulls(of.num_rows, wanted.type)
        array = of.column(wanted.name).combine_chunks()
    elif of.type.get_field_index(wanted.name) < 0:
        return pa.nulls(len(of), wanted.type)
    else:
        array = of.field(wanted.name)
    if not isinstance(array, pa.StructArray) or array.type == wanted.type:
        return array
    members = [_widened(array, member) for member in wanted.type]
    return pa.StructArray.from_arrays(members, fields=list(wanted.type), mask=array.is_null())


def is_delete(operation: str) -> bool:
    """Whether an operation deletes the row: its first letter is a D."""
    return operation.strip()[:1].upper() == _DELETE


def delete_reader(path: Path) -> Callable[[bytes], bool]:
    """Make a function that tells of a record whether its operation deletes the row.

    It raises ConversionError where a field on the way is no object. What is wrong with a record that is no JSON object
    the decoder says.
    """
    quick = field_reader(path)

    def read(value: bytes) -> bool:
        try:
            found = quick(value)
        except CARE:
            try:
                found = walk(value, path, "the field with the operation")
            except ConversionError as error:
                if error.path:
                    raise
                found = None
        if found is None:
            return False
        return _few_are_deletes(found) if len(found) <= _SHORT else is_delete(_text(found))

    return read


@lru_cache(maxsize=1024)
def _few_are_deletes(raw: bytes) -> bool:
    return is_delete(_text(raw))


def _text(raw: bytes) -> str:
    try:
        return msgspec.json.decode(raw, type=str) if raw[:1] == b'"' else raw.decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def with_places(decoded: Decoded, rows: Rows) -> pa.Table:
    """Add the columns of PLACE to decoded changes, from the Kafka rows that they are from."""
    at = np.asarray(decoded.positions, np.int64)
    table = decoded.table
    columns = (
        pa.repeat(rows.topic, len(at)),
        pa.repeat(pa.scalar(rows.partition, pa.int32()), len(at)),
        pa.array(rows.offsets[at]),
        pa.array(rows.stamps[at]),
    )
    for name, column in zip(PLACE, columns, strict=True):
        table = table.append_column(name, column)
    return table


def last_in_partition(codes: Codes, places: pa.Table) -> Codes:
    """Find the last change of each key in each partition of a topic: row numbers, ascending.

    Of the changes that one record brings, the last one is that of the last row.
    """
    return np.sort(_last(codes, _partition_ranks(places), _numbers(places, OFFSET)))


def last_changes(codes: Codes, places: pa.Table) -> Codes:
    """Find the last change of each key: row numbers, ascending."""
    ranks = _partition_ranks(places)
    newest = _last(codes, ranks, _numbers(places, OFFSET))
    last = _last(codes[newest], np.zeros(len(newest), np.int64), _numbers(places, TIMESTAMP)[newest], ranks[newest])
    return np.sort(newest[last])


def in_order(places: pa.Table) -> Codes:
    """Put changes in order: those of a partition by their offsets, of several also by their timestamps.

    Of the changes that one record brings, the last one is that of the last row.
    """
    ranks, stamps = _partition_ranks(places), _numbers(places, TIMESTAMP)
    order = np.lexsort((_numbers(places, OFFSET), ranks))
    for rank in np.unique(ranks):
        here = order[ranks[order] == rank]
        stamps[here] = np.maximum.accumulate(stamps[here])
    result: Codes = order[np.argsort(stamps[order], kind="stable")]
    return result


def _last(codes: Codes, groups: Codes, *order: Codes) -> Codes:
    """Find the last row of each code and group, by columns of which the first counts most."""
    sorted_rows = np.lexsort((*reversed(order), groups, codes))
    ordered_codes, ordered_groups = codes[sorted_rows], groups[sorted_rows]
    is_last = np.ones(len(sorted_rows), bool)
    is_last[:-1] = (ordered_codes[1:] != ordered_codes[:-1]) | (ordered_groups[1:] != ordered_groups[:-1])
    result: Codes = sorted_rows[is_last]
    return result


def _numbers(places: pa.Table, name: str) -> Codes:
    numbers: Codes = places.column(name).to_numpy().astype(np.int64)  # a copy
    return numbers


def _partition_ranks(places: pa.Table) -> Codes:
    """Number rows by topic and partition, in their order."""
    topics = places.column(TOPIC).combine_chunks()
    names = topics.unique().to_pylist()
    rank = {name: number for number, name in enumerate(sorted(names))}
    encoded = topics.dictionary_encode()
    by_code = np.array([rank[name] for name in encoded.dictionary.to_pylist()], np.int64)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    ranks: Codes = (by_code[codes] if len(codes) else np.zeros(0, np.int64)) << 32 | _numbers(places, PARTITION)
    return ranks
