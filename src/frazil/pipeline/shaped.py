"""Decoding of values for one table, by what the schemas of their records say of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from frazil.pipeline.changes import ChangeSpec, change_decoder
from frazil.pipeline.convert.declared import declared, overlaid
from frazil.pipeline.convert.decode import Decoded, DecodeSpec, combined, decoder
from frazil.pipeline.convert.origins import with_origins
from frazil.pipeline.types import Struct
from frazil.pipeline.values import Values


def decoded(values: Values, spec: DecodeSpec, changes: ChangeSpec | None = None) -> Decoded:
    """Decode values for a table; the positions in the result are those in the rows."""
    parts = []
    for struct, part in _by_columns(values, spec):
        own = spec if struct is spec.struct else replace(spec, struct=struct)
        parts.append(part.decode(decoder(own) if changes is None else change_decoder(own, changes)))
    result = combined(parts)
    if values.shapes is not None and spec.evolve:
        columns = declared(spec, values.shapes)
        result.unknown = overlaid(result.unknown, columns)
        inside = [one for one in result.seen if any(one[0][:depth] in columns for depth in range(1, len(one[0])))]
        for one in inside:
            del result.seen[one]
    return result


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
