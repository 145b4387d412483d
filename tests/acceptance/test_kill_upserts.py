"""The worker is killed while changes flow: every key has its last change in the end, once.

`test_kill_points.py` has kills around the commits of changes for every run.
"""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import LongType, NestedField, StringType

from frazil.stack.local import LocalStack
from tests.harness import Pipe, own_worker
from tests.waits import eventually

pytestmark = [pytest.mark.spark, pytest.mark.faults]

KEYS = 300
PARTITIONS = 3
ROWS = Schema(
    NestedField(1, "id", LongType(), required=True), NestedField(2, "value", StringType()), identifier_field_ids=[1]
)
SPEC = PartitionSpec(PartitionField(1, 1000, BucketTransform(2), "id_bucket"))


class Changes(threading.Thread):
    """Sends random changes, each key to a partition of its own, and remembers what the table has to have."""

    def __init__(self, pipe: Pipe, seed: int) -> None:
        super().__init__()
        self.expected: dict[int, str] = {}
        self._pipe = pipe
        self._chance = random.Random(seed)
        self._stopped = threading.Event()
        self._number = 0

    def run(self) -> None:
        producer = Producer({"bootstrap.servers": self._pipe.settings.bootstrap_servers, "linger.ms": 5})
        while not self._stopped.wait(0.2):
            for _ in range(400):
                self._send_one(producer)
            assert producer.flush(30) == 0

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def _send_one(self, producer: Producer) -> None:
        self._number += 1
        key = self._chance.randrange(KEYS)
        if self._chance.random() < 0.2:
            record: dict[str, object] = {"id": key, "op": "d"}
            self.expected.pop(key, None)
        else:
            record = {"id": key, "op": "u", "value": f"{self._number}"}
            self.expected[key] = f"{self._number}"
        producer.produce(self._pipe.name, json.dumps(record).encode(), partition=key % PARTITIONS)


def killed_again_and_again(stack: LocalStack, home: Path, kills: int, mode: str) -> None:
    worker = own_worker(stack.settings, home)
    pipe = Pipe(worker.settings, f"killed_{mode.replace('-', '_')}_{kills}", ROWS, SPEC).create(PARTITIONS)
    pipe.table().transaction().set_properties({"write.merge.mode": mode}).commit_transaction()
    chance = random.Random(kills)
    changes = Changes(pipe, kills)
    changes.start()
    try:
        for kill in range(kills):
            worker.start()
            if kill == 0:
                keys = {"iceberg.tables.cdc-field": "op", "iceberg.tables.evolve-schema-enabled": "false"}
                worker.client.put_config(pipe.connector, pipe.config() | keys)
            before = pipe.snapshots()
            if kill % 3 != 2:
                eventually(lambda before=before: pipe.snapshots() > before)  # type: ignore[misc]
            time.sleep(chance.uniform(0, 2.5))
            worker.client.close()
            worker.kill()
    finally:
        changes.stop()

    with worker:
        eventually(lambda: pipe.lag() == 0)
        rows = pipe.rows()
        assert {row["id"]: row["value"] for row in rows} == changes.expected
        assert len(rows) == len(changes.expected)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_ten_kills_leave_the_last_change_of_each_key(stack: LocalStack, tmp_path: Path, mode: str) -> None:
    killed_again_and_again(stack, tmp_path, 10, mode)
