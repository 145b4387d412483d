"""Exact reading of Avro's binary encoding: one record to a value that JSON can have, as JsonConverter would write it.

What a record costs is bounded by its size: nothing is made of a count before the bytes for it were seen, and elements
that have more values than bytes are counted over all of a record.
"""

import math
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from frazil.pipeline.schemas.avro import AvroType, branch_names, is_plain_union
from frazil.pipeline.schemas.connect import PLAIN, ConnectOptions, UnfitRecord

Read = Callable[[bytes, int], tuple[Any, int]]

_VALUES_PER_BYTE = 16
"""Values that elements of arrays and maps may have, such as the fields of a record that are all null."""
_FREE_VALUES = 10_000
"""Values beyond these that they may have in one record."""
_TWICE = "a map has a key twice"
_float = struct.Struct("<f").unpack_from
_double = struct.Struct("<d").unpack_from


def avro_reader(type_: AvroType, options: ConnectOptions = PLAIN) -> Callable[[bytes, int], Any]:
    """Make the function that reads one record from a place in its bytes to their end.

    It gives texts, numbers, booleans, bytes, None, lists and dicts; a float that is no number is a text, a map whose
    keys are no texts a list of pairs. It raises UnfitRecord for bytes that are not what the schema says.
    """
    compiler = Compiler(options)
    return whole(compiler.compile(type_), compiler.allowance)


class Allowance(threading.local):
    """Values that the record which a thread reads may still have of elements that take next to no bytes."""

    left = 0

    def take(self, elements: int, values: int) -> None:
        """Raises UnfitRecord when there are not as many left."""
        self.left -= elements * values
        if self.left < 0:
            raise UnfitRecord(f"a block has {elements} elements of {values} values that take next to no bytes")


@dataclass(frozen=True)
class Size:
    """Cost of an element of an array or a map: so many bytes at least, and `values` of an allowance if any."""

    smallest: int
    values: int
    allowance: Allowance


def whole(read: Read, allowance: Allowance) -> Callable[[bytes, int], Any]:
    """Make a reader that is to reach the end of the bytes, and says what is wrong with them."""

    def checked(data: bytes, start: int) -> Any:
        allowance.left = _FREE_VALUES
        try:
            value, end = read(data, start)
        except (IndexError, struct.error):
            raise UnfitRecord("it ends before its schema does") from None
        except UnicodeDecodeError as error:
            raise UnfitRecord(f"a text is not UTF-8 ({error.reason})") from None
        except RecursionError:
            raise UnfitRecord("it is nested too deeply") from None
        if end != len(data):
            raise UnfitRecord(f"{len(data) - end} bytes are left behind what its schema says")
        return value

    return checked


def read_long(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at
    value, shift = byte & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise UnfitRecord("a number has more than 64 bits")
    if value >> 64:
        raise UnfitRecord("a number has more than 64 bits")
    return (value >> 1) ^ -(value & 1), at


def _int(data: bytes, at: int) -> tuple[int, int]:
    value, at = read_long(data, at)
    if not -0x80000000 <= value <= 0x7FFFFFFF:
        raise UnfitRecord("a number has more than 32 bits")
    return value, at


def _null(data: bytes, at: int) -> tuple[None, int]:
    return None, at


def _boolean(data: bytes, at: int) -> tuple[bool, int]:
    byte = data[at]
    if byte > 1:
        raise UnfitRecord(f"a boolean is {byte}")
    return byte == 1, at + 1


def _read_float(data: bytes, at: int) -> tuple[float | str, int]:
    value = _float(data, at)[0]
    return (float(str(np.float32(value))) if math.isfinite(value) else no_number(value)), at + 4


def _read_double(data: bytes, at: int) -> tuple[float | str, int]:
    value = _double(data, at)[0]
    return (value if math.isfinite(value) else no_number(value)), at + 8


def no_number(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = read_long(data, at)
    end = at + length
    if length < 0 or end > len(data):
        raise UnfitRecord(f"a length is {length}, and {len(data) - at} bytes are left")
    return data[at:end], end


def _string(data: bytes, at: int) -> tuple[str, int]:
    raw, at = _bytes(data, at)
    return raw.decode(), at


_SIMPLE: dict[str, tuple[Read, int]] = {
    "null": (_null, 0),
    "boolean": (_boolean, 1),
    "int": (_int, 1),
    "long": (read_long, 1),
    "float": (_read_float, 4),
    "double": (_read_double, 8),
    "bytes": (_bytes, 1),
    "string": (_string, 1),
}


class Compiler:
    """Makes readers; those of records are shared, also by what is inside of them."""

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._records: dict[int, Read] = {}
        self._sizes: dict[int, int] = {}
        self._values: dict[int, int] = {}
        self.allowance = Allowance()

    def compile(self, type_: AvroType) -> Read:
        kind = type_.kind
        if kind in _SIMPLE:
            return _SIMPLE[kind][0]
        if kind == "fixed":
            return _fixed(type_.size)
        if kind == "enum":
            return _enum(type_.symbols)
        if kind == "union":
            return self._union(type_)
        if kind == "record":
            return self._record(type_)
        assert type_.inner is not None  # noqa: S101 - arrays and maps have one
        size = self.size(type_.inner, type_.inner, key=kind == "map")
        if kind == "map":
            return read_map(self.compile(type_.inner), size)
        if type_.inner.is_map_entry:
            (_, key, _), (_, value, _) = type_.inner.fields
            return read_pairs(self.compile(key), self.compile(value), size, as_object=key.kind == "string")
        return read_array(self.compile(type_.inner), size)

    def size(self, written: AvroType, wanted: AvroType, *, key: bool) -> Size:
        """Tell what elements of a type take that are read as another one, those of a map with a `key` each."""
        values = self._excess(wanted) - _VALUES_PER_BYTE * key
        return Size(self.smallest(written) + key, max(values, 0), self.allowance)

    def _excess(self, type_: AvroType) -> int:
        """The most values that one can have beyond those that its bytes allow, without those in arrays and maps."""
        if type_.kind == "union":
            names = 0 if is_plain_union(type_, flatten=self._options.flatten) else len(type_.branches)
            return names + max(map(self._excess, type_.branches), default=0) - _VALUES_PER_BYTE
        if type_.kind != "record":
            return 1 - _VALUES_PER_BYTE * self.smallest(type_)
        if id(type_) not in self._values:
            self._values[id(type_)] = 1  # what it is while it is inside of itself
            self._values[id(type_)] = 1 + sum(self._excess(member) for _, member, _ in type_.fields)
        return self._values[id(type_)]

    def smallest(self, type_: AvroType) -> int:
        """The fewest bytes that a value takes."""
        if type_.kind in _SIMPLE:
            return _SIMPLE[type_.kind][1]
        if type_.kind == "fixed":
            return type_.size
        if type_.kind != "record":
            return 1
        if id(type_) not in self._sizes:
            self._sizes[id(type_)] = 0  # what it is while it is inside of itself
            self._sizes[id(type_)] = sum(self.smallest(member) for _, member, _ in type_.fields)
        return self._sizes[id(type_)]

    def _record(self, type_: AvroType) -> Read:
        known = self._records.get(id(type_))
        if known is not None:
            return known
        members: list[tuple[str, Read]] = []

        def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
            value = {}
            for name, member in members:
                value[name], at = member(data, at)
            return value, at

        self._records[id(type_)] = read
        members += [(name, self.compile(member)) for name, member, _ in type_.fields]
        return read

    def _union(self, type_: AvroType) -> Read:
        branches = [self.compile(branch) for branch in type_.branches]
        names: list[str | None] = list(branch_names(type_, self._options))
        if is_plain_union(type_, flatten=self._options.flatten):
            names = [None] * len(branches)
        empty = {name: None for name, branch in zip(names, type_.branches, strict=True) if branch.kind != "null"}
        choices = [
            (None if branch.kind == "null" else name, read)
            for name, branch, read in zip(names, type_.branches, branches, strict=True)
        ]

        def read(data: bytes, at: int) -> tuple[Any, int]:
            index, at = read_long(data, at)
            if not 0 <= index < len(choices):
                raise UnfitRecord(f"a union of {len(choices)} types has none at {index}")
            name, branch = choices[index]
            value, at = branch(data, at)
            return (value if name is None else {**empty, name: value}), at

        return read


def _fixed(size: int) -> Read:
    def read(data: bytes, at: int) -> tuple[bytes, int]:
        end = at + size
        if end > len(data):
            raise UnfitRecord(f"a fixed has {size} bytes, and {len(data) - at} are left")
        return data[at:end], end

    return read


def _enum(symbols: tuple[str, ...]) -> Read:
    def read(data: bytes, at: int) -> tuple[str, int]:
        index, at = read_long(data, at)
        if not 0 <= index < len(symbols):
            raise UnfitRecord(f"an enum of {len(symbols)} symbols has none at {index}")
        return symbols[index], at

    return read


def _block(data: bytes, at: int, size: Size) -> tuple[int, int]:
    """The number of elements in the next block, 0 at the end."""
    count, at = read_long(data, at)
    if count < 0:
        count = -count
        _, at = read_long(data, at)  # bytes of the block, for readers that pass over it
    if size.smallest and count > (len(data) - at) // size.smallest:
        raise UnfitRecord(f"a block has {count} elements, and {len(data) - at} bytes are left")
    if size.values:
        size.allowance.take(count, size.values)
    return count, at


def read_array(element: Read, size: Size) -> Read:
    def read(data: bytes, at: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        while True:
            count, at = _block(data, at, size)
            if not count:
                return values, at
            for _ in range(count):
                value, at = element(data, at)
                values.append(value)

    return read


def read_map(element: Read, size: Size) -> Read:
    def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        values: dict[str, Any] = {}
        entries = 0
        while True:
            count, at = _block(data, at, size)
            if not count:
                if len(values) < entries:
                    raise UnfitRecord(_TWICE)
                return values, at
            entries += count
            for _ in range(count):
                key, at = _string(data, at)
                values[key], at = element(data, at)

    return read


def read_pairs(key: Read, value: Read, size: Size, *, as_object: bool) -> Read:
    def pair(data: bytes, at: int) -> tuple[tuple[Any, Any], int]:
        name, at = key(data, at)
        found, at = value(data, at)
        return (name, found), at

    several = read_array(pair, size)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        pairs, at = several(data, at)
        if not as_object:
            return [list(one) for one in pairs], at
        values = dict(pairs)
        if len(values) < len(pairs):
            raise UnfitRecord(_TWICE)
        return values, at

    return read
