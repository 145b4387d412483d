"""Rows of a Delta table compared with the records that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from frazil.connectors.checks.compare import Part
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.objects.delta.verify import DeltaCheck
from tests.connectors.objects.delta.test_table import DAY, KEY, Make, make
from tests.pipeline.kafka_rows import Row, chunk

pytestmark = pytest.mark.stack

__all__ = ["make"]
ROWS = [
    Row(0, b'{"n":0,"region":"a/b","s":{"x":[1,2.5]}}', DAY),
    Row(1, b'{"n":1}', DAY),
    Row(2, b'{"n":2,"region":""}', DAY),
    Row(3, b'{"n":3,"region":"c"}', 2 * DAY),
    Row(4, b'{"n":"x"}', DAY),
    Row(5, None),
]


def checked(case: Any, rows: Sequence[Row], *, begin: int = 0, dead: Sequence[int] = (4,)) -> RangeCheck:
    target = case.target()
    part = Part({KEY: begin}, {KEY: 6}, frozenset(("t", 0, offset) for offset in dead))
    found = DeltaCheck(case.config, part, target)
    found.take(chunk([row for row in rows if row.offset >= begin]))
    (check,) = found.finish(lambda what, done, total: None)
    return check


@pytest.fixture
def case(make: Make) -> Any:
    made = make("region,day")
    made.config = made.replaced({"behavior.on.null.values": "ignore", "flush.size": "4"})
    made.write(made.target(), ROWS[:4])
    return made


def test_all_rows_are_there(case: Any) -> None:
    found = checked(case, ROWS)
    assert (found.read, found.expected, found.stored, found.dead, found.skipped) == (6, 4, 4, 1, 1)
    assert found.complete, found
    assert found.expected_sum == found.stored_sum


def test_folders_of_a_field_inside_another(make: Make) -> None:
    made = make("meta.country")
    rows = [Row(n, b'{"n":%d,"meta":{"country":"%s"}}' % (n, b"ab"[n % 2 : n % 2 + 1]), DAY) for n in range(6)]
    for begin in (0, 3):
        made.write(made.target(), rows[begin : begin + 3])
    assert [row["meta.country"] for row in made.rows()] == ["a", "b"] * 3
    found = checked(made, rows, dead=())
    assert (found.expected, found.stored, found.complete) == (6, 6, True), found
    odd = made.files(made.target(), [Row(n, b'{"n":6,"meta.country":"c"}', DAY) for n in range(6, 9)])
    assert ["column meta.country" in letter.reason for letter in odd.letters] == [True] * 3


def test_rows_that_are_lost_twice_or_others(case: Any) -> None:
    case.table().delete("n = 1")
    row = {"n": 3, "region": "c", "s": None, "day": 3}
    schema = pa.schema(case.table().schema().to_arrow())
    write_deltalake(case.table(), pa.Table.from_pylist([row, {**row, "n": 9}], schema=schema), mode="append")
    found = checked(case, ROWS)
    assert (found.missing, found.doubled, found.foreign, found.complete) == ([1], [3], 1, False)


def test_a_part_of_the_range_and_a_record_without_dead_letter(case: Any) -> None:
    found = checked(case, ROWS, begin=2)
    assert (found.complete, found.unknown, found.stored) == (True, 2, 2)
    found = checked(case, ROWS, dead=())
    assert found.missing == [4]
    assert "there is no dead letter for it" in found.notes[0]
