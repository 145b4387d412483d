from __future__ import annotations

import json

import numpy as np
import pytest
from bench.upsert import CHANGES, Changes, fill_table

from frazil.stack.local import LocalStack


def test_what_is_expected_is_what_the_records_do() -> None:
    before = np.ones(20_000, np.int32)
    before[:100] = -1
    changes = Changes(np.random.default_rng(1), before, 7)
    rows = {key: int(orders) for key, orders in enumerate(before) if orders >= 0}
    sent = 0
    for key, record in changes.records():
        members = json.loads(record)
        assert members["id"] == key
        if members["op"] == "d":
            del rows[key]
        else:
            rows[key] = members["orders"]
        sent += 1
    assert sent == CHANGES
    assert rows == {key: int(orders) for key, orders in enumerate(changes.expected) if orders >= 0}


@pytest.mark.stack
def test_every_file_has_keys_of_the_whole_range(stack: LocalStack) -> None:
    table = fill_table(stack.settings, "bench_upsert_test", "merge-on-read", 1_000, lambda text: None)
    keys = [task.file.lower_bounds[1] for task in table.scan().plan_files()]
    assert len(keys) == 10
    assert max(int.from_bytes(lowest, "little") for lowest in keys) < 200
    assert table.scan().count() == 1_000
