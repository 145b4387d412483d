"""Rows found by their contents among the records that are expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.checks.contents import match
from frazil.connectors.checks.expected import Expected
from frazil.connectors.checks.result import RangeCheck

DIGESTS = st.lists(st.integers(0, 5), max_size=12)


def expected(digests: Sequence[int], partition: int = 0, dead: int = 0) -> Expected:
    made = Expected(RangeCheck("table", "t", partition, 0, len(digests), dead=dead))
    for offset, one in enumerate(digests):
        made.add(offset, one)
        made.check.expected += 1
    return made


@given(st.lists(DIGESTS, min_size=1, max_size=3), DIGESTS, DIGESTS)
def test_every_row_counts_once(topics: list[list[int]], dead: list[int], rows: list[int]) -> None:
    ranges = [expected(digests, partition) for partition, digests in enumerate(topics)]
    ranges[0].check.dead = len(dead)
    match([rows[:5], rows[5:]], ranges, whole=True, dead=Counter(dead))
    wanted = Counter(one for digests in topics for one in digests)
    have = Counter(rows)
    left = have - wanted
    stored_after_all = left & Counter(dead)
    others = left - stored_after_all
    checks = [each.conclude(compared=True) for each in ranges]
    assert sum(len(check.missing) for check in checks) == (wanted - have).total()
    assert sum(len(check.doubled) for check in checks) == sum(others[one] for one in others if one in wanted)
    assert sum(check.foreign for check in checks) == sum(others[one] for one in others if one not in wanted)
    assert checks[0].dead == len(dead) - stored_after_all.total()
    assert sum(check.stored for check in checks) == (have & wanted).total() + stored_after_all.total()
    assert all(check.expected == check.stored + len(check.missing) for check in checks)
    if have == wanted + stored_after_all:
        assert all(check.complete for check in checks)
        assert sum(int(check.expected_sum or "", 16) for check in checks) == sum(rows)


def test_rows_of_no_record_are_unknown_when_the_table_has_more_than_the_ranges() -> None:
    records = expected([1, 2])
    match([[1, 2, 2, 3]], [records], whole=False)
    check = records.conclude(compared=True)
    assert (check.unknown, check.foreign, check.doubled, check.stored) == (1, 0, [1], 2)


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_rows_of_a_replay_may_differ_from_what_their_records_give_now(rows: int, dead: int, replayed: int) -> None:
    records = expected([1, 2], dead=dead)
    match([[1, 2], list(range(10, 10 + rows))], [records], whole=True, replayed=replayed)
    check = records.conclude(compared=True)
    differing = min(rows, dead, replayed)
    assert (check.foreign, check.dead, check.stored) == (rows - differing, dead - differing, 2 + differing)
    assert (check.expected_sum == check.stored_sum) is check.complete is (rows == differing)
    assert len(check.notes) == bool(differing)


def test_rows_of_a_replay_that_their_records_still_give_excuse_no_others() -> None:
    records = expected([1], dead=2)
    match([[1, 5, 9]], [records], whole=True, dead=Counter([5]), replayed=1)
    assert (records.check.foreign, records.check.dead) == (1, 1)


def test_without_ranges_nothing_is_compared() -> None:
    match([[1]], [], whole=True)


def test_many_equal_rows_are_matched_without_comparing_each_with_each() -> None:
    records = expected([7] * 100_000)
    match(([7] * 10_000 for _ in range(10)), [records], whole=True)
    assert records.conclude(compared=True).complete
