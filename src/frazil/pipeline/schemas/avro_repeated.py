"""Arrays and maps of Avro, each read in many records at once: the elements of a round are one of each record."""

from typing import Any

import numpy as np
import pyarrow as pa

from frazil.pipeline.schemas.avro_nodes import Index, Node
from frazil.pipeline.schemas.avro_text import Ints, Texts

_ROUNDS, _SHARE = 64, 16
"""Rounds that are free, and elements that pay for one more: few long arrays cost less when read one by one."""


class Repeated(Node):
    """Elements in blocks behind their number; a map where they are keys and values."""

    def __init__(self, item: Node, *, is_map: bool) -> None:
        self._item = item
        self._is_map = is_map
        self.type = pa.map_(item.type[0].type, item.type[1].type) if is_map else pa.list_(item.type)

    def walk(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Any]:
        """Find the elements round by round, then read them in the order of their records."""
        behind, counts, found = self._find(texts, at.copy(), edge)
        offsets = np.zeros(len(at) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        begins = np.empty(offsets[-1], np.int64)
        for owners, numbers, places in found:
            begins[offsets[owners] + numbers] = places
        edges = np.repeat(edge, counts)
        ends, state = self._item.walk(texts, begins, edges)
        broken = np.repeat(np.arange(len(at)), counts)[ends == edges]
        behind[broken] = edge[broken]
        return behind, (offsets, state)

    def _find(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Ints, list[tuple[Ints, Ints, Ints]]]:
        """Places behind all elements, how many there are, and their own: owners, numbers among the owner's, places."""
        counts, left = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
        found: list[tuple[Ints, Ints, Ints]] = []
        active = np.arange(len(at))
        rounds = elements = 0
        while True:
            ended = active[left[active] == 0]
            if len(ended):
                left[ended], at[ended] = self._block(texts, at[ended], edge[ended])
                active = active[left[active] > 0]
            if not len(active):
                return at, counts, found
            if self._item.width is not None:
                many = left[active]
                owners = np.repeat(active, many)
                numbers = np.arange(len(owners)) - np.repeat(np.cumsum(many) - many, many)
                found.append((owners, counts[owners] + numbers, at[owners] + numbers * self._item.width))
                at[active] = np.minimum(at[active] + many * self._item.width, edge[active])
                counts[active] += many
                left[active] = 0
            else:
                begins = at[active]
                found.append((active, counts[active], begins))
                at[active], _ = self._item.walk(texts, begins, edge[active])
                counts[active] += 1
                left[active] -= 1
                left[active[at[active] == edge[active]]] = 0
            rounds, elements = rounds + 1, elements + len(active)
            if rounds > _ROUNDS + elements // _SHARE:
                at[active] = edge[active]
                left[active] = 0

    def _block(self, texts: Texts, at: Ints, edge: Ints) -> tuple[Ints, Ints]:
        """Read how many elements the next block has, 0 at the end; also the places of its elements."""
        count, behind = texts.numbers(at, edge)
        sized = np.flatnonzero(count < 0)
        if len(sized):
            count[sized] = -count[sized]
            _, behind[sized] = texts.numbers(behind[sized], edge[sized])  # bytes of the block
        fits = (count >= 0) & (count <= (edge - 1 - behind) // self._item.smallest)
        return np.where(fits, count, 0), np.where(fits, behind, edge)

    def build(self, texts: Texts, state: Any, index: Index) -> pa.Array:
        offsets, inner = state
        items = self._item.build(texts, inner, None)
        places = pa.array(offsets.astype(np.int32))
        if self._is_map:
            found = pa.MapArray.from_arrays(places, items.field(0), items.field(1))
        else:
            found = pa.ListArray.from_arrays(places, items)
        return found if index is None else found.take(index)
