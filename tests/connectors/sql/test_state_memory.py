"""The memory of states, in a JVM of its own, as all states of one share it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.connectors.sql import state_memory

MEGABYTES = 16


@pytest.mark.spark
@pytest.mark.faults
def test_a_state_that_is_larger_than_its_memory_lies_on_the_disk() -> None:
    done = subprocess.run(
        [sys.executable, "-m", state_memory.__name__, str(MEGABYTES)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["numRowsTotal"] == 2 * state_memory.KEYS * state_memory.BATCHES
    assert found["memoryUsedBytes"] < MEGABYTES << 20 < found["customMetrics"]["rocksdbSstFileSize"]
