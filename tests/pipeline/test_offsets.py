from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import ConfigError
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets

KEYS = st.tuples(st.sampled_from(["apilogs", "errorlogs", "té.st"]), st.integers(0, 3))
OFFSETS = st.dictionaries(KEYS, st.integers(0, 2**62), max_size=6)


@given(OFFSETS)
def test_json_gives_the_offsets_back(positions: Offsets) -> None:
    assert offsets.from_json(offsets.to_json(positions)) == positions
    assert offsets.to_json(dict(reversed(positions.items()))) == offsets.to_json(positions)


def test_json_is_what_sparks_kafka_source_takes() -> None:
    text = offsets.to_json({("b", 10): 3, ("b", 2): 4, ("a", 0): 0})
    assert text == '{"a":{"0":0},"b":{"2":4,"10":3}}'
    assert json.loads(text)["b"]["10"] == 3


@pytest.mark.parametrize("text", ["", "[]", "5", '{"a":1}', '{"a":{"x":1}}', '{"a":{"0":null}}', '{"a":{"0":"x"}}'])
def test_json_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="stored offsets cannot be read"):
        offsets.from_json(text)


def test_merge_carries_the_partitions_of_both() -> None:
    assert offsets.merge({("t", 1): 7}, {("t", 0): 3}) == {("t", 0): 3, ("t", 1): 7}


@given(OFFSETS, OFFSETS, OFFSETS)
def test_merge_is_the_maximum_in_any_order(a: Offsets, b: Offsets, c: Offsets) -> None:
    whole = offsets.merge(a, b, c)
    assert whole == {key: max(side[key] for side in (a, b, c) if key in side) for key in a | b | c}
    assert all(offsets.merge(*order) == whole for order in itertools.permutations((a, b, c)))
    assert offsets.merge(a, offsets.merge(b, c)) == offsets.merge(offsets.merge(a, b), c) == whole
    assert offsets.merge(whole, a) == offsets.merge(whole, whole) == whole
    assert offsets.merge() == {}
