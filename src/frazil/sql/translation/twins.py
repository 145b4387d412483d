"""Twins, names that differ in case only: the embedded engine knows no case, and gets a name of its own for each."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


def twins(names: Sequence[str]) -> set[str]:
    """Names in lower case that several of the names have."""
    return {name for name, times in Counter(name.lower() for name in names).items() if times > 1}


def distinct(names: Sequence[str], mark: str = "#") -> tuple[str, ...]:
    """The names as they are, or in lower case with a mark and a number where they are twins."""
    shared = twins(names)
    return tuple(f"{name.lower()} {mark}{i}" if name.lower() in shared else name for i, name in enumerate(names))


def distinct_schema(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """A schema with other names for its columns, and with no twins among the fields of any struct in it."""
    return pa.schema([_distinct(field, name) for name, field in zip(names, schema, strict=True)])


def _distinct(field: pa.Field, name: str) -> pa.Field:
    return field.with_name(name).with_type(_distinct_type(field.type))


def _distinct_type(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.StructType):
        names = distinct([field.name for field in kind])
        return pa.struct([_distinct(field, name) for name, field in zip(names, kind, strict=True)])
    if isinstance(kind, pa.MapType):
        return pa.map_(*(_distinct(field, field.name) for field in (kind.key_field, kind.item_field)))
    if isinstance(kind, pa.ListType | pa.LargeListType):
        made = pa.list_ if isinstance(kind, pa.ListType) else pa.large_list
        return made(_distinct(kind.value_field, kind.value_field.name))
    return kind


@dataclass(frozen=True)
class _Relabelled:
    batch: pa.RecordBatch
    schema: pa.Schema

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        return self.schema.__arrow_c_schema__(), self.batch.__arrow_c_array__()[1]


def relabelled(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Name the columns and fields of a batch as a schema does, which differs in names only; nothing is copied."""
    return batch if batch.schema == schema else pa.record_batch(_Relabelled(batch, schema))
