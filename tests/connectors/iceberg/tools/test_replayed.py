from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.iceberg.tools.replayed import from_json, places, to_json, union
from frazil.errors import ConfigError
from frazil.pipeline.letters.log import Queue
from frazil.pipeline.letters.ranges import Ranges

PLACES = st.dictionaries(
    st.tuples(st.text(max_size=3), st.sampled_from(["id1", "id2"]), st.integers(0, 2)),
    st.sets(st.integers(0, 20), min_size=1).map(Ranges.of),
)


@given(PLACES)
def test_text_and_back(replayed: dict[tuple[str, str, int], Ranges]) -> None:
    assert from_json(to_json(replayed)) == replayed


@given(PLACES, PLACES)
def test_a_union_has_what_any_has(
    left: dict[tuple[str, str, int], Ranges], right: dict[tuple[str, str, int], Ranges]
) -> None:
    both = union([left, right])
    assert both.keys() == left.keys() | right.keys()
    assert all(set(both[p]) == set(left.get(p, Ranges())) | set(right.get(p, Ranges())) for p in both)


def test_the_shape() -> None:
    queues = [Queue("a-dlq", "id1", {0: 0}, {0: 9})]
    found = places([("a-dlq", 0, 5), ("a-dlq", 0, 7), ("a-dlq", 0, 8)], queues)
    assert to_json(found) == '{"a-dlq":[{"id":"id1","offsets":{"0":"5,7-8"}}]}'
    assert to_json({}) == "{}"


@pytest.mark.parametrize(
    "text", ["", "5", "[]", '{"t":5}', '{"t":[{"id":"x"}]}', '{"t":[{"id":"x","offsets":{"0":"y"}}]}']
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="Nothing was replayed"):
        from_json(text)
