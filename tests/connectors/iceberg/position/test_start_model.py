"""Where a connector starts, for any floors and any group: nothing that a table still needs is left out (7.2.4)."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.iceberg.position import start_position
from frazil.connectors.iceberg.table.commit import Floor
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import PositionLost
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets

KEYS = [("t", 0), ("t", 1), ("u", 0)]
BEGIN = dict.fromkeys(KEYS, 10)
END = dict.fromkeys(KEYS, 20)
POSITIONS = st.dictionaries(st.sampled_from(KEYS), st.integers(10, 20))
FLOORS = st.lists(POSITIONS, max_size=3).map(lambda found: {f"t{n}": Floor(each) for n, each in enumerate(found)})
RESETS = st.sampled_from(["earliest", "latest"])


def chosen(floors: dict[str, Floor], group: Offsets, reset: str) -> Offsets:
    """For topics and a group of those offsets."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kafka_offsets, "begin_offsets", lambda *_: BEGIN)
        patched.setattr(kafka_offsets, "end_offsets", lambda *_: END)
        patched.setattr(kafka_groups, "group_offsets", lambda *_: group)
        return start_position.start_offsets("", ["t", "u"], ("group",), reset, floors, KafkaIdentity())


@given(FLOORS, POSITIONS, RESETS)
def test_each_partition_starts_by_the_first_rule_that_knows_it(
    floors: dict[str, Floor], group: Offsets, reset: str
) -> None:
    start = chosen(floors, group, reset)
    assert start.keys() == BEGIN.keys()
    for key, offset in start.items():
        stored = [floor.offsets[key] for floor in floors.values() if key in floor.offsets]
        assert all(offset <= each for each in stored), "a table would lack records"
        if stored and len(stored) == len(floors):
            assert offset == min(stored)
        elif key in group:
            assert offset == min([group[key], *stored])
        elif reset == "earliest":
            assert offset == BEGIN[key]
        else:
            assert offset in (BEGIN[key], min([END[key], *stored]))


@given(FLOORS, POSITIONS, RESETS)
def test_a_partition_that_came_since_is_read_from_its_beginning(
    floors: dict[str, Floor], group: Offsets, reset: str
) -> None:
    """A partition came while the connector stood still: also with `latest`, which is for topics nobody has read."""
    start = chosen(floors, group, reset)
    known = {key for each in (group, *(floor.offsets for floor in floors.values())) for key in each}
    for topic, partition in BEGIN.keys() - known:
        numbers = [number for other, number in known if other == topic]
        if numbers and partition > max(numbers):
            assert start[topic, partition] == BEGIN[topic, partition]
        elif reset == "latest":
            assert start[topic, partition] == END[topic, partition]


@given(FLOORS, POSITIONS, RESETS, st.sampled_from(KEYS), st.sampled_from([9, 21]))
def test_a_position_outside_of_the_topic_is_never_replaced(
    floors: dict[str, Floor], group: Offsets, reset: str, key: tuple[str, int], lost: int
) -> None:
    floors = {name: Floor({**floor.offsets, key: lost}) for name, floor in floors.items()}
    with pytest.raises(PositionLost, match=f"continues at offset {lost} of {key[0]}-{key[1]}, but the topic has 10 to"):
        chosen(floors, {**group, key: lost}, reset)


@given(FLOORS, st.lists(POSITIONS, min_size=3, max_size=3), st.sets(st.integers(0, 2)))
def test_what_all_tables_had_raises_each_that_was_not_rolled_back(
    floors: dict[str, Floor], complete: list[Offsets], back: set[int]
) -> None:
    given_ = {
        name: Floor(floor.offsets, complete=complete[n], rolled_back=n in back)
        for n, (name, floor) in enumerate(floors.items())
    }
    everywhere = offsets.merge(*complete[: len(floors)])
    found = start_position.effective(given_)
    for name, floor in given_.items():
        kept = floor.rolled_back or not floor.offsets
        assert found[name].offsets == (floor.offsets if kept else offsets.merge(floor.offsets, everywhere))
