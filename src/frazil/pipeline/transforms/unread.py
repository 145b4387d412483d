"""Records of plain JSON that transformations change as columns, once it is known which table they go to.

A field that transformations leave alone, be it under another name, is read as the column of the table that gets it, as
without them; one that they look at is read with the type that records have shown. Records that are something else are
transformed one by one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.pipeline.convert import infer
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.convert.decode import Decoded, DecodeSpec, decoder
from frazil.pipeline.convert.fitting import fitted, fitting
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.columns import ApplyToBlock, Block, Member, block_of, changed
from frazil.pipeline.types import STRING, Field, Scalar, Struct, Type
from frazil.pipeline.values import Ints, Part

_SAMPLE = 100
_MOST_FIELDS = 1000
_LEARN_SHARE = 0.05
"""Part of the records of a chunk that are left, from which on they show what the next ones may have."""
_PLAIN = ("boolean", "int", "long", "float", "double", "string")
_UNREADABLE = re.compile(r'["\\\0-\x1f]')
"""Characters of names that the verdict on records cannot express."""
_MINUS_ZERO = re.compile(rb"-0\s*[,}]")
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Shown:
    """Fields that records have shown, with the types of their values: a guess that the records to come are held to."""

    def __init__(self) -> None:
        self.types: dict[str, Type | None] = {}

    def learn(self, values: Sequence[bytes | None]) -> None:
        """Look at some of the records."""
        for value in values[:: len(values) // _SAMPLE + 1]:
            try:
                members = _object(value or b"")
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue  # it is refused where it is transformed
            for name, raw in members.items():
                fits_in = len(self.types) < _MOST_FIELDS and not _UNREADABLE.search(name)
                if name in self.types or fits_in:
                    text = bytes(raw)
                    type_ = infer.NOTHING if text[0] in b"{[" else infer.infer(text)
                    self.types[name] = infer.merge(self.types.get(name), type_)


@dataclass(frozen=True, kw_only=True)
class Unread(Part):
    """Records that are still JSON, with the transformations that wait for them.

    `new_names` are names that these give to any fields.
    """

    rows: Rows
    steps: Sequence[ApplyToBlock]
    shown: Shown
    new_names: frozenset[str]

    def keeps(self, name: str) -> bool:
        """Whether a field is what it is in the records, whichever fields they have."""
        if name in self.new_names or not len(self):
            return False
        member = pa.nulls(1, pa.string())
        after = changed(_block(self, {name: (member, STRING)}, np.zeros(1, np.int64)), self.steps)
        return after is not None and name in after.members and after.members[name][0] is member

    def value(self, number: int) -> bytes | None:
        """The JSON of a record."""
        return self.rows.values[int(self.at[number])]


@dataclass
class _Plan:
    """Ways to read records: `source` are their fields, of which transformations look at `opened`.

    `passing` are the fields that columns get as they are: their names, and those that transformations give them.
    """

    opened: set[str]
    source: list[Field] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    passing: dict[str, tuple[str, str]] = field(default_factory=dict)


def read(part: Unread, spec: DecodeSpec) -> tuple[Decoded, Ints]:
    """Decode records for a table; also the numbers of those that have to be transformed one by one."""
    values = [part.rows.values[position] for position in part.at.tolist()]
    if not part.shown.types:
        part.shown.learn(values)
    table, numbers = _read(part, spec, values)
    left = np.delete(np.arange(len(part)), numbers)
    if len(left) > _LEARN_SHARE * len(part):
        part.shown.learn([values[number] for number in left.tolist()])
    return Decoded(table, positions=part.at[numbers].tolist()), left


def _read(part: Unread, spec: DecodeSpec, values: Sequence[bytes | None]) -> tuple[pa.Table, Ints]:
    nothing = arrow_schema(spec.struct).empty_table(), np.zeros(0, np.int64)
    find = _Finder(spec)
    plan = _plan(part, spec, find) if spec.mapper is None and len(part) else None
    if plan is None or not plan.source:
        return nothing
    source = replace(spec, struct=Struct(tuple(plan.source), tuple(plan.ignored)), evolve=True)
    table, numbers = _without_minus_zero(*decoder(source, frozenset(plan.opened)).plain(values), plan, values)
    types = [each.type for each in plan.source]
    arrays = zip(table.column_names, table.columns, types, strict=True)
    members: dict[str, Member] = {name: (array.combine_chunks(), type_) for name, array, type_ in arrays}
    after = changed(_block(part, members, numbers), part.steps)
    if after is None:
        return nothing
    rest = Struct(tuple(each for each in spec.struct.fields if each.name not in plan.passing))
    columns = {column: members[name][0] for column, (name, _) in plan.passing.items()}
    if rest.fields:
        passed = {output for _, output in plan.passing.values()}
        others = after.having({name: member for name, member in after.members.items() if name not in passed})
        own = replace(spec, struct=rest)
        fit = fitting(others.shape, own)
        if fit is None:
            return nothing
        struct = others.struct() if others.members else pa.nulls(len(after), pa.struct([]))
        made, care = fitted(struct, fit, own)
        kept = np.delete(np.arange(len(after)), care)
        columns = {name: array.take(pa.array(kept)) for name, array in columns.items()} if len(care) else columns
        columns |= dict(zip(made.column_names, made.columns, strict=True))
        numbers = numbers[kept]
    schema = arrow_schema(spec.struct)
    return pa.table([columns[name] for name in schema.names], schema=schema), numbers


def _block(part: Unread, members: dict[str, Member], numbers: Ints) -> Block:
    return block_of(part.rows, part.at[numbers], members)


class _Finder:
    """Finds the columns of a table."""

    def __init__(self, spec: DecodeSpec) -> None:
        self._fold = str.lower if spec.any_case else str
        self._columns = {self._fold(name): each for each in spec.struct.fields for name in each.members}
        self._ignored = {self._fold(name) for name in spec.struct.ignored}
        self._evolve = spec.evolve

    def column(self, name: str) -> Field | None:
        """The column for a field."""
        return self._columns.get(self._fold(name))

    def is_ignored(self, name: str) -> bool:
        """Whether a field without a column makes no difference."""
        return not self._evolve or self._fold(name) in self._ignored


def _plan(part: Unread, spec: DecodeSpec, find: _Finder) -> _Plan | None:
    """Follow the fields that records have shown through the transformations; None where that leads nowhere."""
    types = {name: type_ or _likely(find.column(name)) for name, type_ in part.shown.types.items()}
    schema = arrow_schema(Struct(tuple(Field(name, type_) for name, type_ in types.items())))
    before = {each.name: (pa.nulls(1, each.type), types[each.name]) for each in schema}
    names = {id(array): name for name, (array, _) in before.items()}
    blocks, plan = [_block(part, before, np.zeros(1, np.int64))], _Plan(set())
    for apply in part.steps:
        after = apply(blocks[-1])
        if after is None:
            return None
        for name, (array, _) in blocks[-1].members.items():
            made = id(after.members[name][0]) if name in after.members else id(array)
            if made not in names and id(array) in names:
                plan.opened.add(names[id(array)])
                names[made] = names[id(array)]
        blocks.append(after)  # its arrays have to stay, since they are told by their identities
    outputs: dict[str | None, str] = {}
    taken: set[str] = set()
    for final, (array, _) in blocks[-1].members.items():
        source = names.get(id(array))
        outputs[source] = final
        if source is None or source in plan.opened:
            column = find.column(final)
            if column.name in taken if column is not None else not find.is_ignored(final):
                return None
            taken |= {column.name} if column is not None else set()
    for name in before:
        output = outputs.get(name)
        column = None if output is None else find.column(output)
        if name in plan.opened:
            plan.source.append(Field(name, types[name]))
        elif output is None or (column is None and find.is_ignored(output)):
            plan.ignored.append(name)
        elif column is not None and column.name not in taken:  # else a record that has the field is for itself
            taken.add(column.name)
            plan.source.append(replace(column, name=name, aliases=None))
            plan.passing[column.name] = name, output
    return plan


def _likely(column: Field | None) -> Type:
    """Guess the type of a field that was null until now."""
    known = column is not None and isinstance(column.type, Scalar) and column.type.kind in _PLAIN
    return column.type if column is not None and known else STRING


def _without_minus_zero(
    table: pa.Table, numbers: Ints, plan: _Plan, values: Sequence[bytes | None]
) -> tuple[pa.Table, Ints]:
    """Leave out records with `-0` in a field that transformations look at, which is 0 as a column."""
    whole = [name for name in plan.opened if name in table.column_names and pa.types.is_integer(table[name].type)]
    zeros = {row for name in whole for row in np.flatnonzero(pc.equal(table[name], 0).fill_null(False)).tolist()}
    wrong = [row for row in sorted(zeros) if _MINUS_ZERO.search(values[numbers[row]] or b"")]
    if not wrong:
        return table, numbers
    kept = np.delete(np.arange(len(numbers)), wrong)
    return table.take(pa.array(kept)), numbers[kept]
