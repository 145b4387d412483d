"""Reading of many Avro records of one schema at once: each type in all records, before the next type.

Every record has a position of its own and is read within its own bytes, so what is wrong with one shows in no other.
Those that are not what the schema says are left out: the exact reader tells what is wrong with them.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from frazil.pipeline.convert.unique import rows_with_repeated_keys
from frazil.pipeline.schemas.avro import AvroType, branch_names, is_plain_union
from frazil.pipeline.schemas.avro_nodes import (
    Boolean,
    DecimalNumber,
    Double,
    Enumeration,
    Fixed,
    Float,
    Node,
    Nullable,
    RecordNode,
    Text,
    UnionNode,
    Whole,
)
from frazil.pipeline.schemas.avro_repeated import Repeated
from frazil.pipeline.schemas.avro_text import Ints, Texts
from frazil.pipeline.schemas.connect import PLAIN, ConnectOptions

_MOST_NESTED = 3
"""Arrays and maps inside of each other: each level is read twice."""
_MOST_SCALE = 38
_TRIES = 5
"""Times that records are read again without those that are broken, of which few arrays that are left may make more."""
_LARGEST = (1 << 31) - (1 << 10)
"""Bytes of all records together; columns of texts have places of 31 bits."""


class Unreadable(Exception):
    """A schema whose records are not read at once."""


@dataclass(frozen=True)
class Read:
    """Records as columns: `struct` has one row for each of `indexes`, places of records in the input, ascending."""

    indexes: Ints
    struct: pa.StructArray


class AvroColumns:
    """Reads records of one schema. Making it raises Unreadable for a schema whose records are not read at once."""

    def __init__(self, type_: AvroType, options: ConnectOptions = PLAIN) -> None:
        if type_.kind != "record":
            raise Unreadable
        self._root = _Compiler(options).compile(type_, 0)

    def read(self, texts: Texts, indexes: Ints, start: int) -> Read:
        """Read some records, whose own bytes begin at `start` of what `texts` has of them; some may be left out."""
        if len(texts.data) > _LARGEST:
            indexes = indexes[:0]
        for _ in range(_TRIES):
            ends = texts.ends[indexes]
            reached, state = self._root.walk(texts, texts.begins[indexes] + start, ends + 1)
            good = reached == ends
            if good.all():
                break
            indexes = indexes[good]
        else:
            return Read(indexes[:0], pa.array([], self._root.type))
        struct = self._root.build(texts, state, None)
        table = pa.table(struct.flatten(), schema=pa.schema(list(struct.type)))
        wrong = np.zeros(len(texts.ends), bool)
        wrong[indexes[np.fromiter(rows_with_repeated_keys(table), np.int64)]] = True
        wrong[texts.refused()] = True
        if wrong.any():
            kept = ~wrong[indexes]
            indexes, struct = indexes[kept], struct.filter(pa.array(kept))
        return Read(indexes, struct)


class _Compiler:
    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._open: set[int] = set()

    def compile(self, type_: AvroType, nested: int) -> Node:
        if id(type_) in self._open:
            raise Unreadable
        self._open.add(id(type_))
        try:
            return self._node(type_, nested)
        finally:
            self._open.discard(id(type_))

    def _node(self, type_: AvroType, nested: int) -> Node:
        match type_.kind:
            case "boolean":
                return Boolean()
            case "int":
                return Whole(32)
            case "long":
                return Whole(64)
            case "float":
                return Float()
            case "double":
                return Double()
            case "string":
                return Text(pa.string())
            case "bytes" | "fixed":
                return _bytes(type_)
            case "enum":
                return Enumeration(type_.symbols)
            case "record" if type_.fields:
                return RecordNode([(name, self.compile(member, nested)) for name, member, _ in type_.fields])
            case "union":
                return self._union(type_, nested)
            case "array" | "map" if nested < _MOST_NESTED and type_.inner is not None:
                return self._repeated(type_.kind == "map", type_.inner, nested + 1)
        raise Unreadable

    def _union(self, type_: AvroType, nested: int) -> Node:
        nothing = next((index for index, one in enumerate(type_.branches) if one.kind == "null"), None)
        names = branch_names(type_, self._options)
        branches = [
            (index, name, self.compile(branch, nested))
            for index, (name, branch) in enumerate(zip(names, type_.branches, strict=True))
            if index != nothing
        ]
        if is_plain_union(type_, flatten=self._options.flatten):
            ((index, _, value),) = branches
            return Nullable(value, index, nothing)
        return UnionNode(branches, nothing)

    def _repeated(self, is_map: bool, inner: AvroType, nested: int) -> Node:
        if not is_map and inner.is_map_entry:
            if inner.fields[0][1].kind != "string":
                raise Unreadable
            return Repeated(self.compile(inner, nested), is_map=True)
        item = self.compile(inner, nested)
        if is_map:
            item = RecordNode([("key", Text(pa.string())), ("value", item)])
        if not item.smallest:
            raise Unreadable
        return Repeated(item, is_map=is_map)


def _bytes(type_: AvroType) -> Node:
    size = type_.size if type_.kind == "fixed" else None
    if type_.props.get("logicalType") == "decimal":
        scale = type_.props.get("scale", 0)
        if not isinstance(scale, int) or not 0 <= scale <= _MOST_SCALE:
            raise Unreadable
        return DecimalNumber(size, scale)
    return Text(pa.binary()) if size is None else Fixed(size)
