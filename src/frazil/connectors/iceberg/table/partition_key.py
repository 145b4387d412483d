"""Partition of a data file: its values, and the folders of them in its location."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any
from urllib.parse import quote_plus

from pyiceberg.partitioning import PartitionFieldValue, PartitionSpec, partition_record_value
from pyiceberg.partitioning import PartitionKey as PyIcebergKey
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

_LONGEST_PATH = 500
_NO_WORD = re.compile(r"[^A-Za-z0-9_]|^(?=[0-9])", re.ASCII)


class PartitionKey(PyIcebergKey):
    """PyIceberg's key, but by the fields of the spec: several may have one column, and its folders are words.

    SeaweedFS takes no other names of folders in a table's location. Only readers of paths see them: the values of the
    partition stand in the manifests.
    """

    @classmethod
    def of(cls, values: tuple[Any, ...], spec: PartitionSpec, schema: Schema) -> PartitionKey:
        """The key of a value for each field of the spec."""
        pairs = zip(spec.fields, values, strict=True)
        return cls([PartitionFieldValue(field, value) for field, value in pairs], spec, schema)

    @cached_property
    def partition(self) -> Record:
        """The values as Iceberg keeps them."""
        return Record(*(partition_record_value(each.field, each.value, self.schema) for each in self.field_values))

    def to_path(self) -> str:
        """The folders, `name=value` each, with a slash between them."""
        types = self.partition_spec.partition_type(self.schema).fields
        folders = []
        for index, field in enumerate(self.partition_spec.fields):
            text = field.transform.to_human_string(types[index].field_type, self.partition[index])
            folders.append(f"{_NO_WORD.sub('_', field.name)}={quote_plus(text, safe='')}")
        return "/".join(folders)

    def fits_into_path(self) -> bool:
        """Whether the folders may stand in a location.

        Not when there are none, when a value is empty, which SeaweedFS refuses, or when object names could exceed the
        1024 bytes of S3.
        """
        return 0 < len(self.to_path()) <= _LONGEST_PATH and all(each.value != "" for each in self.field_values)
