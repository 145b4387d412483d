"""Decoding of records to columns: plain records in one arrow-json call, the others one by one.

Bad records change nothing for their neighbours: each gets its own reason.
"""

from __future__ import annotations

import gc
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import length_hint
from typing import Any

import arro3.io
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.pipeline.convert import infer, temporal, verdict
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.convert.data_keys import bounded, way_on
from frazil.pipeline.convert.exact import double_schema, has_vanished, inexact_rows
from frazil.pipeline.convert.overrides import NO_OVERRIDES, Overrides
from frazil.pipeline.convert.strict import ConversionError, Converter, Notes, Row, is_nothing, parse_object
from frazil.pipeline.convert.unique import rows_with_repeated_keys
from frazil.pipeline.mapper import RecordMapper
from frazil.pipeline.types import Struct, Type, has_aliases

_NOT_PLAIN = (msgspec.MsgspecError, ValueError, TypeError, RecursionError)
_MISREAD_PAIR = re.compile(rb"\\u[dD](?:8[4-9a-fA-F]|[9abAB])")
"""Escaped surrogate pairs from plane 2 on: arrow-json decodes U+20000 as U+10000."""
_FIRST_MICROS = temporal.FIRST_DAY * temporal.NANOS_PER_DAY // 1000
_LAST_MICROS = (temporal.LAST_DAY + 1) * temporal.NANOS_PER_DAY // 1000 - 1
_LEARN_AFTER, _LEARN_SHARE = 64, 0.05
"""Failures of a column, seen in one decoder, and the part of its records that they are, from which on the column is
read from source text in every record."""


@dataclass(frozen=True)
class DecodeSpec:
    """Settings of a decoder; equal specs share one decoder in a Python worker.

    `no_more_columns`: why records with unknown fields are refused, although the schema may evolve. `loosen`: whether
    required columns may become optional then. `any_case`, `legacy` and `overrides` are those of `Converter`.
    `most_new_columns`: how many columns one record may ask for, and the configuration key that says so. `path_types`:
    whether `frazil.schema.path.*` gives new columns their types, so that reasons can name it. `empties`: how
    empty objects and arrays are taken; where they are lenient, an empty array is null in a column of objects.
    """

    struct: Struct
    evolve: bool
    mapper: RecordMapper | None = None
    no_more_columns: str = ""
    loosen: bool = False
    any_case: bool = False
    legacy: bool = False
    overrides: Overrides = NO_OVERRIDES
    most_new_columns: tuple[int, str] | None = None
    path_types: bool = False
    empties: infer.Empties = "untold"


@dataclass
class Decoded:
    """Result of decoding: `table` holds the good rows, in no particular order, the lists hold positions in the input.

    `unknown` are fields without a column, and columns that are too narrow with the type that would do; `absent` are
    required columns without a value. When there are any, the rows are not yet what the records say. `seen` is how many
    records have an unknown field, and what is inside of it. `positions` are those of the rows, in the order of the
    table. `failed` are those that transformations, or the converter, could not make a value of.
    """

    table: pa.Table
    rejected: list[tuple[int, ConversionError]] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    unknown: dict[infer.Path, Type] = field(default_factory=dict)
    absent: set[infer.Path] = field(default_factory=set)
    positions: Sequence[int] = ()
    seen: infer.Seen = field(default_factory=Counter)
    failed: list[tuple[int, ConversionError]] = field(default_factory=list)

    def whole(self) -> Decoded:
        """Leave out the rows of records that have a rejected row, and all rejections of a record but the first."""
        if not self.rejected:
            return self
        bad = dict(reversed(self.rejected))
        kept = [index for index, position in enumerate(self.positions) if position not in bad]
        if len(kept) == len(self.positions) and len(bad) == len(self.rejected):
            return self
        table, positions = self.table.take(pa.array(kept, pa.int64())), [self.positions[index] for index in kept]
        return replace(self, table=table, positions=positions, rejected=list(bad.items())[::-1])


def combined(parts: Sequence[Decoded]) -> Decoded:
    """Make one result of those for parts of the same records, at least one."""
    if len(parts) == 1:
        return parts[0]
    return Decoded(
        pa.concat_tables([part.table for part in parts]),
        sorted((one for part in parts for one in part.rejected), key=lambda one: one[0]),
        sorted(index for part in parts for index in part.skipped),
        infer.merge_all([part.unknown for part in parts]),
        set[infer.Path]().union(*(part.absent for part in parts)),
        [position for part in parts for position in part.positions],
        sum((part.seen for part in parts), infer.Seen()),
        sorted((one for part in parts for one in part.failed), key=lambda one: one[0]),
    )


@lru_cache(maxsize=256)
def decoder(spec: DecodeSpec, strict: frozenset[str] = frozenset()) -> RecordDecoder:
    """Give the decoder for a spec, with what it has learnt about the records so far; `strict` as it has it."""
    return RecordDecoder(spec, strict)


class RecordDecoder:
    """Decodes chunks of JSON records for one table."""

    def __init__(self, spec: DecodeSpec, strict: frozenset[str] = frozenset()) -> None:
        """Make a decoder; the columns `strict` are never read from source text, which takes more for what they are."""
        self._spec = spec
        self._never_raw = strict
        self._columns = {f.name: f for f in spec.struct.fields}
        self._schema = arrow_schema(spec.struct)
        self._strict = Converter(
            spec.struct,
            spec.no_more_columns,
            any_case=spec.any_case,
            legacy=spec.legacy,
            overrides=spec.overrides,
            empty_arrays=spec.empties == "lenient",
        )
        self._exact_names = spec.any_case or has_aliases(spec.struct)
        self._failures: Counter[str] = Counter()
        self._seen = 0
        self._learn(())

    def _learn(self, raw_columns: Sequence[str]) -> None:
        """Read these columns from source text from now on: their values are often not what the column says."""
        markers = self._spec.mapper.markers if self._spec.mapper else ()
        self._judge = verdict.decoder(
            self._spec.struct,
            forbid_unknown=self._spec.evolve or self._exact_names,
            markers=markers,
            raw=raw_columns,
        )
        self._raw = {name: f"c{i}" for i, name in enumerate(self._columns) if name in raw_columns}
        self._plain_schema = pa.schema([f for f in self._schema if f.name not in self._raw])
        self._double_schema = double_schema(self._plain_schema)

    @property
    def raw_columns(self) -> frozenset[str]:
        """The columns that are read from source text in every record."""
        return frozenset(self._raw)

    def decode(self, rows: Sequence[bytes | None], *, fitting: bool = False) -> Decoded:
        """Decode the values of consecutive records; None is a tombstone.

        With `fitting` the verdict on all of them is known: they fit the columns.
        """
        care: dict[int, Exception] = {}
        tables, kept = self._decode_plain(rows, care, fitting=fitting)
        result = Decoded(self._schema.empty_table())
        with _without_collector():
            strict_rows, strict_positions = self._convert_strictly(rows, care, result)
            if strict_rows:
                tables.append(pa.Table.from_pylist(strict_rows, schema=self._schema))
            strict_rows.clear()
        result.positions = [*kept, *strict_positions] if care else kept
        if tables:
            result.table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
            if self._spec.mapper is not None:
                result.table = self._spec.mapper.redact(result.table)
        self._learn_from(care, len(rows))
        return result

    def plain(self, rows: Sequence[bytes | None]) -> tuple[pa.Table, np.ndarray[Any, np.dtype[np.int64]]]:
        """Decode the records that are plain, and nothing else; also their numbers."""
        care: dict[int, Exception] = {}
        tables, kept = self._decode_plain(rows, care)
        self._learn_from(care, len(rows))
        return pa.concat_tables([self._schema.empty_table(), *tables]), np.array(kept, np.int64)

    def _decode_plain(
        self, rows: Sequence[bytes | None], care: dict[int, Exception], *, fitting: bool = False
    ) -> tuple[list[pa.Table], Sequence[int]]:
        """Decode the records that are plain, in their order; also their numbers. The others are put into `care`."""
        records = [] if fitting and not self._raw else self._judge_all(rows, care)
        raw_values = self._convert_raw(records, care) if self._raw else {}
        if care:
            kept = [index for index in range(len(rows)) if index not in care]
            raw_values = {name: [values[i] for i in kept] for name, values in raw_values.items()}
        else:
            kept = list(range(len(rows)))
        tables = self._read_plain([rows[i] for i in kept] if care else rows, kept, raw_values, care)
        return tables, [index for index in kept if index not in care] if care else kept

    def _judge_all(self, rows: Sequence[bytes | None], care: dict[int, Exception]) -> list[Any]:
        """Put the records that need care there; give the judged ones where raw columns are to be taken from them."""
        records: deque[Any] = deque(maxlen=None if self._raw else 0)
        waiting = iter(rows)
        while True:
            try:
                records.extend(map(self._judge, waiting))  # type: ignore[arg-type]
                return list(records)
            except _NOT_PLAIN as error:
                care[len(rows) - length_hint(waiting) - 1] = error
                records.append(None)

    def _convert_raw(self, records: Sequence[Any], care: dict[int, Exception]) -> dict[str, list[Any]]:
        """Convert the raw columns, one value per record; a record that fails needs care."""
        result: dict[str, list[Any]] = {}
        convert, evolve = self._strict.column, self._spec.evolve
        for name, attribute in self._raw.items():
            values: list[Any] = []
            for index, record in enumerate(records):
                value = None
                if record is not None:
                    raw = getattr(record, attribute)
                    try:
                        value = convert(name, b"null" if raw is None else bytes(raw), evolve=evolve)
                    except ConversionError as error:
                        care[index] = error
                values.append(value)
            result[name] = values
        return result

    def _read_plain(
        self,
        rows: Sequence[bytes | None],
        positions: Sequence[int],
        raw_values: dict[str, list[Any]],
        care: dict[int, Exception],
    ) -> list[pa.Table]:
        """Read records that are plain. Should arrow-json refuse one all the same, it alone gets care."""
        if not rows:
            return []
        try:
            joined = b"\n".join(rows)  # type: ignore[arg-type]
            if _MISREAD_PAIR.search(joined):
                raise ValueError("an escaped surrogate pair")
            table = pa.table(arro3.io.read_json(joined, self._double_schema, batch_size=len(rows)))
            if table.num_rows != len(rows):
                raise ValueError(f"{len(rows)} records gave {table.num_rows} rows")
            if any(_beyond_calendar(chunk) for column in table.columns for chunk in column.chunks):
                raise ValueError("a time that its offset moves out of the years 1 to 9999")
            if has_vanished(table, joined):
                raise ValueError("a number that may have become zero")
        except (OSError, ValueError) as error:
            if len(rows) == 1:
                care[positions[0]] = error
                return []
            middle = len(rows) // 2
            return [
                table
                for part in (slice(0, middle), slice(middle, None))
                for table in self._read_plain(
                    rows[part], positions[part], {name: values[part] for name, values in raw_values.items()}, care
                )
            ]
        refused: dict[int, Exception] = {
            i: ValueError("a key stands twice in a map") for i in rows_with_repeated_keys(table)
        }
        for name, inexact in inexact_rows(table, self._plain_schema, legacy=self._spec.legacy).items():
            self._failures[name] += len(inexact)
            refused.update((i, ValueError("a number that may have lost digits")) for i in inexact)
        if refused:
            care.update((positions[i], error) for i, error in refused.items())
            keep = [i for i in range(len(rows)) if i not in refused]
            table = table.take(pa.array(keep, pa.int64()))
            raw_values = {name: [values[i] for i in keep] for name, values in raw_values.items()}
        if self._double_schema is not self._plain_schema:
            table = table.cast(self._plain_schema)
        for name, values in raw_values.items():
            index = self._schema.get_field_index(name)
            table = table.add_column(index, self._schema.field(index), pa.array(values, self._schema.field(index).type))
        return [table]

    def _convert_strictly(
        self, rows: Sequence[bytes | None], care: dict[int, Exception], result: Decoded
    ) -> tuple[list[Row], list[int]]:
        """Convert the records that need care to rows, with their positions; put the others into `result`."""
        mapper = self._spec.mapper

        unknown: list[tuple[infer.Path, bytes]] = []
        wider: list[tuple[infer.Path, bytes]] = []
        absent: list[infer.Path] = []
        notes: Notes | None = None
        if self._spec.evolve:
            notes = Notes(
                lambda path, raw: unknown.append((path, raw)),
                lambda path, raw: wider.append((path, raw)),
                absent.append if self._spec.loosen else None,
            )

        converted: list[Row] = []
        positions: list[int] = []
        shown: defaultdict[infer.Path, list[Type]] = defaultdict(list)
        for index in sorted(care):
            row = rows[index]
            if row is None or is_nothing(row):
                result.skipped.append(index)
                continue
            for told in (unknown, wider, absent):
                told.clear()
            try:
                members = parse_object(row)
                if mapper is not None:
                    members = dict(mapper.map(members))
                converted_row = self._strict.row(members, notes)
                found = self._new_columns(unknown)
            except ConversionError as error:
                result.rejected.append((index, error.with_way_on() if self._spec.path_types else error))
            except ValueError as error:
                result.rejected.append((index, ConversionError("", str(error))))
            else:
                converted.append(converted_row)
                positions.append(index)
                for path, type_ in found.items():
                    shown[path].append(type_)
                for path, raw in wider:
                    shown[path] += [type_ for type_ in (infer.infer(raw),) if type_ is not None]
                result.absent.update(absent)
        for path, types in shown.items():
            infer.count(path, types, result.seen)
            merged = infer.merge_types(types)
            if merged is not None:
                result.unknown[path] = merged
        return converted, positions

    def _new_columns(self, unknown: Sequence[tuple[infer.Path, bytes]]) -> dict[infer.Path, Type]:
        """Find the columns that a record asks for. Raises ConversionError for more than one record may."""
        inferred = {path: self._spec.overrides.infer(path, raw, self._spec.empties) for path, raw in unknown}
        found = {path: type_ for path, type_ in inferred.items() if type_ is not None}
        if self._spec.most_new_columns is None:
            return found
        most, key = self._spec.most_new_columns
        if sum(map(infer.column_count, infer.typed(found).values())) > most:
            found = bounded(infer.typed(found), most)
            if sum(map(infer.column_count, found.values())) > most:
                reason = f"the record would bring more than {most:,} new columns, as {key} allows"
                raise ConversionError("", f"{reason}{way_on(found) if self._spec.path_types else ''}")
        return found

    def _learn_from(self, care: dict[int, Exception], seen: int) -> None:
        """Count which columns made records need care, and read those that did so often from source text."""
        self._seen += seen
        for error in care.values():
            if isinstance(error, msgspec.ValidationError):
                path = str(error).rpartition("`$.")[2]
                name = next((n for n in self._columns if path.startswith((f"{n}`", f"{n}[", f"{n}."))), None)
                if name is not None:
                    self._failures[name] += 1
        often = max(_LEARN_AFTER, self._seen * _LEARN_SHARE)
        found = (name for name, count in self._failures.items() if count >= often or name in self._raw)
        learnt = [name for name in found if name not in self._never_raw]
        learnt = learnt[: len(self._columns) - 1]  # arrow-json reads no records without columns
        if set(learnt) != self._raw.keys():
            self._learn(learnt)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Switch the garbage collector off: it would go through all new rows again and again, and find nothing."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _beyond_calendar(array: pa.Array) -> bool:
    """Whether the array has a time, at any depth, that the strict converter refuses."""
    match array:
        case pa.TimestampArray():
            limits = pc.min_max(array.view(pa.int64()))
            low, high = limits["min"].as_py(), limits["max"].as_py()
            return low is not None and not (low >= _FIRST_MICROS and high <= _LAST_MICROS)
        case pa.ListArray():
            return _beyond_calendar(array.values)
        case pa.StructArray():
            return any(_beyond_calendar(array.field(i)) for i in range(array.type.num_fields))
        case _:
            return False
