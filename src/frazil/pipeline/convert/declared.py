"""Columns that the schemas of records declare and a table lacks, whether the records have values for them or not."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from frazil.pipeline.convert import infer
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.convert.infer import Path
from frazil.pipeline.convert.origins import without_origins
from frazil.pipeline.types import Field, List, Map, Scalar, Struct, Type, column_names, inner_types

_WIDER = {("int", "long"), ("float", "double")}


def declared(spec: DecodeSpec, shapes: Sequence[Struct | None]) -> dict[Path, Type]:
    """Find new columns, and columns that are too narrow, with their types, as `Decoded.unknown` has them.

    A schema with more new columns than one record may ask for brings none.
    """
    distinct = {id(shape): shape for shape in shapes if shape is not None}
    return infer.merge_all([_needs(spec, shape) for shape in distinct.values()])


def overlaid(
    inferred: dict[Path, Type], declared: dict[Path, Type], shapes: Sequence[Struct | None]
) -> dict[Path, Type]:
    """Put types that schemas declare in place of those that values show, also where only some values have a schema."""
    distinct = list({id(shape): shape for shape in shapes}.values())

    def found(path: Path, type_: Type) -> Type:
        everywhere = all(shape is not None and _has(shape, path) for shape in distinct)
        return _overlay(inferred.get(path), type_, sure=everywhere)

    return inferred | {path: found(path, type_) for path, type_ in declared.items()}


def _has(type_: Type, path: Path) -> bool:
    inner = dict(inner_types(type_)).get(path[0]) if path else None
    return not path or (inner is not None and _has(inner, path[1:]))


def _overlay(inferred: Type | None, declared: Type, *, sure: bool) -> Type:
    """Find a type for values of which some have a declared type; text beside an object or array makes text.

    `sure`: all values have it.
    """
    match inferred, declared:
        case Struct(fields), Struct(members):
            known = {member.name: member.type for member in members}
            shown = {field.name: field.type for field in fields}
            both = {name: _overlay(shown.get(name), type_, sure=sure) for name, type_ in known.items()}
            return Struct(tuple(Field(name, type_) for name, type_ in (both | shown | both).items()))
        case List(element), List(items):
            return replace(declared, element=_overlay(element, items, sure=sure))
        case Scalar(kind="string"), Struct() | List() | Map() if not sure:
            return inferred
        case _:
            return declared


def settled(spec: DecodeSpec, shape: Struct) -> dict[Path, Type] | None:
    """Find what `declared` finds for one schema; None where records of it have fields that can become no columns."""
    found, refused = _compared(spec, shape)
    return None if refused else found


def _needs(spec: DecodeSpec, shape: Struct) -> dict[Path, Type]:
    return _compared(spec, shape)[0]


@lru_cache(maxsize=1024)
def _compared(spec: DecodeSpec, shape: Struct) -> tuple[dict[Path, Type], bool]:
    """Compare a table with a schema: what it lacks, and whether it can never have some of that."""
    any_refused = False
    taken = {name.lower() for name in column_names(spec.struct)}
    found: dict[Path, Type] = {}
    for path, type_, is_new in _differences(spec, spec.struct, without_origins(shape), ()):
        wanted = spec.overrides.apply(path, type_) if is_new else type_
        refused = is_new and (spec.no_more_columns or not path[-1] or ".".join(path).lower() in taken)
        any_refused |= wanted is not None and bool(refused)
        if wanted is not None and not refused:
            found[path] = wanted
    most = spec.most_new_columns
    if most is not None and sum(map(infer.column_count, found.values())) > most[0]:
        return {}, True
    return found, any_refused


def _differences(spec: DecodeSpec, column: Type, shape: Type, path: Path) -> Iterator[tuple[Path, Type, bool]]:
    """Compare a column with its schema: path, type, and whether the column is new."""
    match column, shape:
        case Struct(fields), Struct(members):
            fold = str.lower if spec.any_case else str
            known = {fold(name): field for field in fields for name in field.members}
            ignored = {fold(name) for name in column.ignored}
            for member in members:
                field = known.get(fold(member.name))
                if field is not None:
                    yield from _differences(spec, field.type, member.type, (*path, field.name))
                elif fold(member.name) not in ignored:
                    yield (*path, member.name), member.type, True
        case List(element), List(items):
            yield from _differences(spec, element, items, (*path, "element"))
        case Map(_, value), Map(_, values):
            yield from _differences(spec, value, values, (*path, "value"))
        case Scalar(), Scalar() if (column.kind, shape.kind) in _WIDER:
            yield path, shape, False
        case _:
            return
