"""Types of Avro, each read in many records at once.

`walk` finds the values at places of records and gives the places behind them, with what `build` needs to make a column
of them. A record that is broken at a place is led to its edge.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.pipeline.schemas.avro_text import Ints, Texts

Index: TypeAlias = pa.Int64Array | None
"""Rows of a column by their numbers among the values that were read, null for null; None for as they were read."""
_MOST_BYTES = 16
_HIGHEST = 10**38 >> 64
"""The upper half of numbers that have 39 digits, as far as it alone tells."""


class Node(ABC):
    """A type. `smallest` is the fewest bytes of a value, `width` all of them where that never differs."""

    type: pa.DataType
    smallest: int = 1
    width: int | None = None

    @abstractmethod
    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        """Find the values at places; the places behind them, and what `build` needs."""

    @abstractmethod
    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        """Make the column."""


def _taken(array: pa.Array, index: Index) -> pa.Array:
    return array if index is None else array.take(index)


class Whole(Node):
    """A whole number of 32 or 64 bits."""

    def __init__(self, bits: int) -> None:
        self.type = pa.int32() if bits == 32 else pa.int64()
        self._most = None if bits == 64 else 1 << (bits - 1)

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        value, behind = texts.numbers(at, edge)
        if self._most is not None and len(value) and not (-self._most <= value.min() and value.max() < self._most):
            behind = np.where((value < -self._most) | (value >= self._most), edge, behind)
        return behind, value

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        return _taken(pa.array(state if self._most is None else state.astype(np.int32)), index)


class Boolean(Node):
    """A byte that is 0 or 1."""

    type, width = pa.bool_(), 1

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        value = texts.byte(at)
        behind = np.minimum(at + 1, edge)
        return np.where(value > 1, edge, behind) if (value > 1).any() else behind, value

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        return _taken(pa.array(state.astype(bool)), index)


class Float(Node):
    """A number of four bytes."""

    type, smallest, width = pa.float32(), 4, 4

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        return np.minimum(at + 4, edge), at

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        return _taken(pa.array(texts.word(state).astype(np.uint32).view("<f4")), index)


class Double(Node):
    """A number of eight bytes."""

    type, smallest, width = pa.float64(), 8, 8

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        return np.minimum(at + 8, edge), at

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        return _taken(pa.array(texts.word(state).view("<f8")), index)


class Text(Node):
    """A text, or bytes, behind their length."""

    def __init__(self, type_: pa.DataType) -> None:
        self.type = type_

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        begin, end = _sized(texts, at, edge)
        return end, (begin, end)

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        begin, end = state
        found = _pieces(texts, begin, end, index)
        if self.type == pa.binary():
            return found
        if _is_ascii(found):
            return pa.Array.from_buffers(self.type, len(found), found.buffers(), found.null_count)
        try:
            return found.cast(self.type)
        except pa.ArrowInvalid:
            wrong = [
                number
                for number, (first, last) in enumerate(zip(begin.tolist(), end.tolist(), strict=True))
                if not _is_text(texts.data[first:last])
            ]
            texts.refuse(begin[wrong])
            end = end.copy()
            end[wrong] = begin[wrong]
            return _pieces(texts, begin, end, index).cast(self.type)


def _sized(texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Ints]:
    """Places of bytes that stand behind their length."""
    length, begin = texts.numbers(at, edge)
    fits = (length >= 0) & (length < edge - begin)
    return begin, begin + length if fits.all() else np.where(fits, begin + length, edge)


def _pieces(texts: Texts, begin: Ints, end: Ints, index: Index) -> pa.Array:
    """Cut bytes, which stand in the order of their places: an array with what is between them too loses every other."""
    count = len(begin)
    if not count:
        return pa.nulls(0 if index is None else len(index), pa.binary())
    places = np.empty(2 * count, np.int32)
    places[::2], places[1::2] = begin, end
    everything = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(places), texts.buffer])
    if index is None:
        return everything.take(pa.array(np.arange(0, 2 * count, 2)))
    return everything.take(pc.multiply(index, 2))


def _is_ascii(found: pa.Array) -> bool:
    """Whether all bytes are, told at a glance: Arrow looks at the bytes of one value after the other."""
    data = found.buffers()[2]
    return data is not None and data.size > 0 and int(np.frombuffer(data, np.uint8).max()) < 0x80


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Fixed(Node):
    """Bytes, always as many."""

    type = pa.binary()

    def __init__(self, size: int) -> None:
        self.smallest = self.width = size

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        return np.minimum(at + self.smallest, edge), at

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        return _pieces(texts, state, state + self.smallest, index)


class DecimalNumber(Node):
    """A number in units of its last digit, in bytes behind their length or in so many; up to 38 digits."""

    def __init__(self, size: int | None, scale: int) -> None:
        self.type = pa.decimal128(38, scale)
        self.smallest, self.width = (1, None) if size is None else (size, size)

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        if self.width is None:
            begin, end = _sized(texts, at, edge)
        else:
            begin, end = at, np.minimum(at + self.width, edge)
        size = end - begin
        fits = (size > 0) & (size <= _MOST_BYTES)
        size = np.where(fits, size, 1)
        words = np.empty((len(size), 2), np.int64)
        low = texts.word(end - 8).byteswap().view(np.int64)
        unused = np.maximum(64 - 8 * size, 0)
        words[:, 0] = low << unused >> unused
        words[:, 1] = words[:, 0] >> 63
        long = np.flatnonzero(size > 8)
        if len(long):
            high = texts.word(end[long] - 16).byteswap().view(np.int64)
            unused = 128 - 8 * size[long]
            words[long, 1] = high << unused >> unused
            fits[long] &= (words[long, 1] >= -_HIGHEST) & (words[long, 1] < _HIGHEST)
        return end if fits.all() else np.where(fits, end, edge), words

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        return _taken(pa.Array.from_buffers(self.type, len(state), [None, pa.py_buffer(state)]), index)


class Enumeration(Node):
    """A symbol by its number."""

    type = pa.string()

    def __init__(self, symbols: Sequence[str]) -> None:
        self._symbols = pa.array(symbols, pa.string())

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        return _chosen(texts, at, edge, len(self._symbols))

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        return self._symbols.take(_taken(pa.array(state), index))


def _chosen(texts: Texts, at: Ints, edge: Ints, count: int) -> tuple[Ints, Ints]:
    """Read numbers of one of so many; also the places behind them."""
    number, behind = texts.numbers(at, edge)
    fits = (number >= 0) & (number < count)
    return behind if fits.all() else np.where(fits, behind, edge), number


class RecordNode(Node):
    """Members one after the other."""

    def __init__(self, members: Sequence[tuple[str, Node]]) -> None:
        self._members = members
        self._fields = [pa.field(name, node.type) for name, node in members]
        self.type = pa.struct(self._fields)
        self.smallest = sum(node.smallest for _, node in members)
        widths = [node.width for _, node in members]
        self.width = None if None in widths else sum(width or 0 for width in widths)

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        states = []
        for _, node in self._members:
            at, state = node.walk(texts, at, edge)
            states.append(state)
        return at, states

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        arrays = [node.build(texts, one, index) for (_, node), one in zip(self._members, state, strict=True)]
        mask = None if index is None or not index.null_count else index.is_null()
        return pa.StructArray.from_arrays(arrays, fields=self._fields, mask=mask)


class _Branch:
    """The values of one type of a union: those that have it, of so many."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def walk(self, texts: Texts, chosen: Ints, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        """Find the values; the places of all, which for those with a value are behind it, and what `build` needs."""
        count = len(at)
        if len(chosen) == count:
            at, state = self._node.walk(texts, at, edge)
        else:
            at[chosen], state = self._node.walk(texts, at[chosen], edge[chosen])
        return at, (count, chosen, state)

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        count, chosen, inner = state
        if len(chosen) == count:
            return self._node.build(texts, inner, index)
        if not len(chosen):
            return pa.nulls(count if index is None else len(index), self._node.type)
        places, is_null = np.zeros(count, np.int64), np.ones(count, bool)
        places[chosen], is_null[chosen] = np.arange(len(chosen)), False
        return self._node.build(texts, inner, _taken(pa.array(places, mask=is_null), index))


class Nullable(Node):
    """A type that may be null where `nothing` is the number of null, behind the number of the type."""

    def __init__(self, node: Node, number: int, nothing: int | None) -> None:
        self.type = node.type
        self._branch, self._number = _Branch(node), number
        self._count = 1 if nothing is None else 2
        self.smallest = 1 + (node.smallest if nothing is None else 0)

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        behind, number = _chosen(texts, at, edge, self._count)
        return self._branch.walk(texts, np.flatnonzero(number == self._number), behind, edge)

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        return self._branch.build(texts, state, index)


class UnionNode(Node):
    """One of several types: a struct with a member for each, of which one has a value."""

    def __init__(self, branches: Sequence[tuple[int, str, Node]], nothing: int | None) -> None:
        self._branches = [(number, _Branch(node)) for number, _, node in branches]
        self._fields = [pa.field(name, node.type) for _, name, node in branches]
        self.type = pa.struct(self._fields)
        self._count = len(branches) + (nothing is not None)
        self._nothing = nothing

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        behind, number = _chosen(texts, at, edge, self._count)
        states = []
        for one, branch in self._branches:
            behind, state = branch.walk(texts, np.flatnonzero(number == one), behind, edge)
            states.append(state)
        return behind, (number, states)

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        number, states = state
        arrays = [branch.build(texts, one, index) for (_, branch), one in zip(self._branches, states, strict=True)]
        mask = None
        if self._nothing is not None:
            mask = _taken(pa.array(number == self._nothing), index).fill_null(True)
        elif index is not None and index.null_count:
            mask = index.is_null()
        return pa.StructArray.from_arrays(arrays, fields=self._fields, mask=mask)
