"""Compatibility of schemas: when another one begins a new object."""

from collections.abc import Sequence

from frazil.connectors.objects.config.object_sink import Compatibility
from frazil.connectors.objects.records import Schema
from frazil.connectors.objects.rotation import Changes
from frazil.pipeline.types import Field, List, Map, Scalar, Struct, Type

_WIDER = {("int", "long"), ("int", "float"), ("int", "double"), ("long", "double"), ("float", "double")}


def changes(mode: Compatibility, schemas: Sequence[Schema]) -> Changes:
    """Whether a record of the second schema, by number, needs another object than the first's; -1 is no schema.

    NONE: for any difference. BACKWARD and FULL: when the record's version is newer. FORWARD: when it is older. With
    these also when its values do not fit into the columns of the object.
    """
    if mode == "NONE":
        return int.__ne__
    newer = mode in ("BACKWARD", "FULL")

    def change(file: int, record: int) -> bool:
        if min(file, record) < 0:
            return file != record
        mine, other = schemas[file], schemas[record]
        if mine.version is not None and other.version is not None and mine.version != other.version:
            if (other.version > mine.version) == newer:
                return True
        elif mine.version != other.version:
            return True
        return mine.name != other.name or not _fits(other.struct, mine.struct)

    return change


def _fits(values: Type | None, columns: Type | None) -> bool:
    """Whether values of one type can be columns of another."""
    match values, columns:
        case Struct(fields), Struct(wanted):
            known: dict[str, Field] = {field.name: field for field in fields}
            absent = [field for field in wanted if field.name not in known]
            return not any(field.required for field in absent) and all(
                _fits(known[field.name].type, field.type) and known[field.name].required >= field.required
                for field in wanted
                if field not in absent
            )
        case List(element, required), List(wanted_element, wanted_required):
            return required >= wanted_required and _fits(element, wanted_element)
        case Map(key, value, required), Map(wanted_key, wanted_value, wanted_required):
            return key == wanted_key and required >= wanted_required and _fits(value, wanted_value)
        case Scalar(), Scalar():
            return values == columns or (values.kind, columns.kind) in _WIDER
        case _:
            return values == columns
