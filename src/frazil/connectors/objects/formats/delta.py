"""Parquet files with the columns of a table, from the JSON of records."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO

import pyarrow as pa

from frazil.connectors.objects.fields import type_at
from frazil.connectors.objects.formats.json_tables import Refused, decoded, in_groups
from frazil.connectors.objects.formats.parquet import tables_writer
from frazil.pipeline.convert import infer
from frazil.pipeline.convert.declared import declared, overlaid
from frazil.pipeline.convert.decode import DecodeSpec, decoder
from frazil.pipeline.convert.origins import with_origins
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.results import NewColumns
from frazil.pipeline.types import STRING, Field, List, Scalar, Struct, Type, changed

_SPECIAL = re.compile(r"[\x00-\x1f\x7f ,;{}()=]")
_SPECIAL_NAME = "a column of a Delta table cannot have this name"
_NO_FIELDS = "the record has no field, and the table no column yet"


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table that files are for, and whether it gets more of them for fields that have none.

    `reserved` are names that no field may have: the columns that are made for folders. A record may ask for so many new
    columns, `most_new` also names the key that says so; `no_more` is why there are no new ones at all.
    """

    struct: Struct
    evolves: bool
    reserved: frozenset[str] = frozenset()
    most_new: tuple[int, str] | None = None
    no_more: str = ""

    def refusal(self, path: infer.Path, type_: Type) -> str | None:
        """Reason why a field can have no column."""
        if path[0] in self.reserved:
            own = "a field inside another" if "." in path[0] else "the record's time"
            return f"the column of this name is {own}"
        names = (*path, *_names(type_))
        return _SPECIAL_NAME if any(map(_SPECIAL.search, names)) else None


def _names(type_: Type) -> Iterator[str]:
    match type_:
        case Struct(fields):
            for field in fields:
                yield field.name
                yield from _names(field.type)
        case List(element):
            yield from _names(element)
        case _:
            return


def write_table_file(
    open_lines: Callable[[], Iterable[bytes]], columns: TableColumns, shape: Struct | None, codec: str, out: IO[bytes]
) -> tuple[Refused, NewColumns]:
    """Write a file from records that are JSON objects without line feeds; `shape` is what their schema says, if any.

    Gives the records that the columns cannot hold, and the fields that have no column where the table can get some;
    with either of them nothing of use is written.
    """
    struct = columns.struct
    spec = DecodeSpec(
        struct if struct.fields else Struct((Field("\0", STRING),)),
        columns.evolves,
        no_more_columns=columns.no_more,
        most_new_columns=columns.most_new,
    )
    known: dict[infer.Path, Type] = {}
    if shape is not None:
        wanted = changed(shape, _storable) or Struct(())
        noted = with_origins(spec.struct, wanted)
        assert isinstance(wanted, Struct) and isinstance(noted, Struct)  # noqa: S101 - kinds stay as they are
        known = declared(spec, [wanted]) if columns.evolves else {}
        spec = replace(spec, struct=noted)
    refused: Refused = []
    unknown = NewColumns()

    def tables() -> Iterator[pa.Table]:
        nonlocal unknown
        position = 0
        for lines in in_groups(open_lines()):
            table, failed, without = decoded(spec, lines)
            refused.extend((position + index, error) for index, error in failed)
            without = _declared(without, known, shape)
            if without:
                hopeless = _hopeless(spec, columns, lines, without, unknown)
                unknown = _declared(unknown, _possible(columns, known), shape)
                refused.extend((position + index, error) for index, error in hopeless)
            elif not struct.fields:
                refused.extend((position + index, ConversionError("", _NO_FIELDS)) for index in range(len(lines)))
            position += len(lines)
            if not refused and not unknown:
                yield table

    tables_writer(codec)(struct, tables(), out)
    return refused, unknown


def _storable(name: str, type_: Type) -> Type | None:
    """The type of a column of Delta for one of a schema: times of day stay numbers; None for a struct of nothing."""
    if isinstance(type_, Scalar):
        return Scalar("int") if type_.kind == "time" else type_
    return changed(type_, _storable)


def _declared(found: NewColumns, known: dict[infer.Path, Type], shape: Struct | None) -> NewColumns:
    """Put types that a schema declares in place of those that values show."""
    if not known:
        return found
    seen = {one: count for one, count in found.seen.items() if not _inside(one[0], known)}
    return NewColumns(overlaid(found.fields, known, (shape,)), Counter(seen), found.doubtful)


def _inside(path: infer.Path, known: Container[infer.Path]) -> bool:
    return any(path[:depth] in known for depth in range(1, len(path)))


def _possible(columns: TableColumns, known: Mapping[infer.Path, Type]) -> dict[infer.Path, Type]:
    """The columns of a schema that the table can get, apart from those that it has."""
    return {
        path: type_
        for path, type_ in known.items()
        if columns.refusal(path, type_) is None and type_at(columns.struct, ".".join(path)) is None
    }


def _hopeless(
    spec: DecodeSpec,
    columns: TableColumns,
    lines: Sequence[bytes],
    found: NewColumns,
    unknown: NewColumns,
) -> Refused:
    """The records that no column can be made for; note the fields of the others that have none."""
    refused: Refused = []
    if any(columns.refusal(path, type_) for path, type_ in found.fields.items()):
        found = NewColumns()
        for index, line in enumerate(lines):
            shown = decoder(spec).decode([line])
            told = {path: reason for path, type_ in shown.unknown.items() if (reason := columns.refusal(path, type_))}
            if told:
                path = min(told)
                refused.append((index, ConversionError(".".join(path), told[path])))
            else:
                found.add(NewColumns(shown.unknown, shown.seen))
    narrow = {path for path in found.fields if type_at(spec.struct, ".".join(path)) is not None}
    unknown.add(NewColumns({path: type_ for path, type_ in found.fields.items() if path not in narrow}, found.seen))
    if narrow:  # a number that is too large for the column that it has
        refused += decoder(replace(spec, evolve=False)).decode(lines).rejected
    return refused
