"""Required columns inside of structs that may be null: their values are null where the struct is.

Parquet's writer takes no null in a required column, not even where an outer null hides it.
"""

import pyarrow as pa
import pyarrow.compute as pc


def without_masked_nulls(table: pa.Table) -> pa.Table:
    """The rows with nulls of required columns taken away, where an outer null hides them; any other stays."""
    if not any(_holds_required(field.type, field.nullable) for field in table.schema):
        return table
    columns = [_settled(column.combine_chunks(), None) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _holds_required(type_: pa.DataType, optional: bool) -> bool:
    """Whether a type, whose values may be null if `optional`, has required members inside of what may be null."""
    if pa.types.is_struct(type_):
        return any(
            (optional and not member.nullable) or _holds_required(member.type, optional or member.nullable)
            for member in type_
        )
    if pa.types.is_list(type_):
        return _holds_required(type_.value_type, optional or type_.value_field.nullable)
    return pa.types.is_map(type_) and _holds_required(type_.item_type, optional or type_.item_field.nullable)


def _settled(array: pa.Array, hidden: pa.Array | None) -> pa.Array:
    """Settle what is inside of an array; `hidden` says which of its values an outer null hides, None for none."""
    type_ = array.type
    if pa.types.is_struct(type_):
        gone = array.is_null() if hidden is None else pc.or_(array.is_null(), hidden)
        members = []
        for index, field in enumerate(type_):
            member = _settled(array.field(index), gone)
            if not field.nullable and member.null_count and pc.all(pc.or_(member.is_valid(), gone)).as_py():
                member = _valid(member)
            members.append(member)
        return pa.StructArray.from_arrays(
            members, fields=list(type_), mask=array.is_null() if array.null_count else None
        )
    if pa.types.is_list(type_):
        return _rebuilt(array, _settled(array.values, None))
    if pa.types.is_map(type_):
        entries = [array.keys, _settled(array.items, None)]
        return _rebuilt(array, pa.StructArray.from_arrays(entries, fields=[type_.key_field, type_.item_field]))
    return array


def _rebuilt(array: pa.Array, inside: pa.Array) -> pa.Array:
    """A list or map with other content."""
    return pa.Array.from_buffers(array.type, len(array), array.buffers()[:2], offset=array.offset, children=[inside])


def _valid(array: pa.Array) -> pa.Array:
    """The array with no value null; lists and maps as they are, for Parquet's writer counts those right."""
    if pa.types.is_struct(array.type):
        members = [array.field(index) for index in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(members, fields=list(array.type))
    if pa.types.is_nested(array.type):
        return array
    return pa.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], offset=array.offset)
