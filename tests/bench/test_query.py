from __future__ import annotations

import pytest
from bench.query import BUCKETS, DAYS, QUESTIONS, ask, fill_table

from frazil.stack.local import LocalStack


@pytest.mark.stack
@pytest.mark.faults
def test_the_answers_come_from_the_files_that_are_needed(stack: LocalStack) -> None:
    table = fill_table(stack.settings, "bench_query_test", DAYS * BUCKETS * 20, lambda text: None)
    found = {title: ask(stack.settings, table, title, lambda text: None) for title in QUESTIONS}
    assert {one.rows for one in found.values()} == {DAYS * BUCKETS * 20}
    assert found["all rows"].read == found["all rows"].files == DAYS * BUCKETS
    assert found["a day and a bucket"].read == found["the same through WITH"].read == 1
    assert found["the newest 10 rows"].read <= BUCKETS
    assert all(0 < one.seconds < one.program_s for one in found.values())
