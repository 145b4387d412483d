"""Decoding of values for one table, by what the schemas of their records say of its columns."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from frazil.pipeline.changes import ChangeSpec, change_decoder, marked, only_keys, with_required_keys
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.convert.declared import declared, overlaid, settled
from frazil.pipeline.convert.decode import Decoded, DecodeSpec, combined, decoder
from frazil.pipeline.convert.fitting import fitted, fitting
from frazil.pipeline.convert.origins import with_origins
from frazil.pipeline.operations import divided
from frazil.pipeline.transforms import unread
from frazil.pipeline.transforms.unread import Unread
from frazil.pipeline.types import Struct
from frazil.pipeline.values import Columns, Ints, Part, Values


def decoded(values: Values, spec: DecodeSpec, changes: ChangeSpec | None = None) -> Decoded:
    """Decode values for a table; the positions in the result are those in the rows."""
    parts, shapes = [], _shapes(values)
    for part in values.columns:
        found, left = _at_once(part, spec, changes)
        if len(left) < len(part):
            parts.append(found)
        if isinstance(part, Columns) or len(left) < len(part):
            shapes.append(part.shape if isinstance(part, Columns) else None)
        if len(left):
            read = part.only(left).one_by_one()
            others = _decoded(read.values, spec, changes)
            others.failed += read.failed
            parts.append(others)
            shapes += _shapes(read.values)
    if values.values or not parts:
        parts.append(_decoded(values, spec, changes))
    result = combined(parts)
    if shapes and spec.evolve:
        known = declared(spec, shapes)
        result.unknown = overlaid(result.unknown, known, shapes)
        inside = [one for one in result.seen if any(one[0][:depth] in known for depth in range(1, len(one[0])))]
        for one in inside:
            del result.seen[one]
    return result


def _shapes(values: Values) -> list[Struct | None]:
    """Give the shapes of values that are not null."""
    pairs = zip(values.values, values.shapes or (), strict=False)
    return [shape for value, shape in pairs if value is not None and (shape is not None or value != b"null")]


def _at_once(part: Part, spec: DecodeSpec, changes: ChangeSpec | None) -> tuple[Decoded, Ints]:
    """Decode values at once; also the numbers of the rows that have to be decoded one by one."""
    if changes is not None:
        return _changes_at_once(part, spec, changes)
    if isinstance(part, Columns):
        return _fitted(part, spec)
    if isinstance(part, Unread):
        return unread.read(part, spec)
    return Decoded(arrow_schema(spec.struct).empty_table()), np.arange(len(part))


def _changes_at_once(part: Part, spec: DecodeSpec, changes: ChangeSpec) -> tuple[Decoded, Ints]:
    """Decode changes as `ChangeDecoder` does: deletes stand first, with nothing but their keys."""
    schema = arrow_schema(spec.struct)
    split = divided(part, changes.operation)
    keyed = with_required_keys(spec.struct, changes.of_deletes)
    of_keys = replace(spec, struct=only_keys(keyed, changes.of_deletes), evolve=False)
    parts, unread_ = [], [split.left]
    for numbers, own, deleted in ((split.deletes, of_keys, True), (split.others, replace(spec, struct=keyed), False)):
        found, left = _at_once(part.only(numbers), own, None)
        parts.append(replace(found, table=marked(found.table, schema, deleted=deleted)))
        unread_.append(numbers[left])
    return combined(parts), np.sort(np.concatenate(unread_))


def _fitted(columns: Columns, spec: DecodeSpec) -> tuple[Decoded, Ints]:
    nothing = Decoded(arrow_schema(spec.struct).empty_table())
    missing = settled(spec, columns.shape) if spec.evolve else {}
    fit = None if missing is None else fitting(columns.shape, spec)
    if fit is None:
        return nothing, np.arange(len(columns))
    if missing:  # the rows are for a table that has these columns
        return nothing, np.zeros(0, np.int64)
    table, left = fitted(columns.struct, fit, spec)
    return Decoded(table, positions=np.delete(columns.at, left).tolist()), left


def _decoded(values: Values, spec: DecodeSpec, changes: ChangeSpec | None) -> Decoded:
    parts = []
    for struct, part in _by_columns(values, spec):
        own = spec if struct is spec.struct else replace(spec, struct=struct)
        parts.append(part.decode(decoder(own) if changes is None else change_decoder(own, changes)))
    return combined(parts)


def _by_columns(values: Values, spec: DecodeSpec) -> Iterator[tuple[Struct, Values]]:
    """Divide values by what their schemas say of the columns; at least one part."""
    shapes = values.shapes or ()
    structs = {id(shape): spec.struct if shape is None else _noted(spec, shape) for shape in shapes}
    if len({id(struct) for struct in structs.values()}) < 2:
        yield next(iter(structs.values()), spec.struct), values
        return
    found: dict[int, tuple[Struct, list[int]]] = {}
    for index, shape in enumerate(shapes):
        struct = structs[id(shape)]
        found.setdefault(id(struct), (struct, []))[1].append(index)
    for struct, indexes in found.values():
        yield struct, values.only(indexes)


def _noted(spec: DecodeSpec, shape: Struct) -> Struct:
    struct = with_origins(spec.struct, shape, spec.any_case)
    assert isinstance(struct, Struct)  # noqa: S101 - kinds stay as they are
    return struct
