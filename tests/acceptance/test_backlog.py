"""A day of 200 buckets waits to be read: bounded memory, and about one file per partition and commit."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from frazil.stack.local import LocalStack
from tests.harness import Pipe, Worker, own_worker
from tests.waits import eventually

pytestmark = [pytest.mark.spark, pytest.mark.faults]

BUCKETS, RECORDS, RECORD_BYTES = 200, 600_000, 1_000
BATCH = 200_000
PYTHON_LIMIT = 1 << 30
"""What one Python worker of Spark may take, whatever waits: rows that wait for their file are bounded."""


def backlog(records: int) -> Iterator[bytes]:
    """Records of 24 hours over the buckets in turn."""
    filler = "x" * (RECORD_BYTES - 150)
    for number in range(records):
        second = number * 86_400 // records
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        record = {
            "id": number,
            "time": f"2026-03-01T{clock}Z",
            "bucket": f"b{number % BUCKETS}",
            "info": {"note": filler},
        }
        yield json.dumps(record).encode()


class Memory(threading.Thread):
    """The most that a Python worker of Spark has had, and the whole family at once, in bytes."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.python = self.family = 0
        self._main = psutil.Process(worker.pid)
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(0.2):
            sizes = {}
            for process in [self._main, *self._main.children(recursive=True)]:
                try:
                    sizes[process.pid] = process.memory_info().rss, "java" in process.name()
                except psutil.NoSuchProcess:
                    continue
            self.family = max(self.family, sum(size for size, _ in sizes.values()))
            tasks = [size for pid, (size, java) in sizes.items() if pid != self._main.pid and not java]
            self.python = max([self.python, *tasks])

    def stop(self) -> None:
        self._stopped.set()
        self.join()


@pytest.mark.timeout(900)
def test_a_day_of_two_hundred_buckets(stack: LocalStack, tmp_path: Path) -> None:
    with own_worker(stack.settings, tmp_path) as worker:
        pipe = Pipe(worker.settings, "backlog").create(partitions=4)
        pipe.send(backlog(RECORDS))
        memory = Memory(worker)
        memory.start()
        begun = time.monotonic()
        worker.client.put_config(pipe.connector, pipe.config(frazil__batch__max__records=str(BATCH)))
        eventually(lambda: pipe.lag() == 0, timeout=600)
        memory.stop()
        print(
            f"{RECORDS / (time.monotonic() - begun):,.0f} rec/s; Python worker {memory.python >> 20} MB, "
            f"all processes {memory.family >> 20} MB"
        )
        table = pipe.table()
        files = [task.file for task in table.scan().plan_files()]
        assert sum(file.record_count for file in files) == RECORDS
        commits = [s for s in table.metadata.snapshots if s.summary and s.summary["added-records"] not in (None, "0")]
        assert len(commits) >= RECORDS // BATCH
        assert len(files) <= 1.2 * 2 * BUCKETS * len(commits), "files of a commit: one per bucket and task"
        assert memory.python < PYTHON_LIMIT
        assert len(set(pipe.ids())) == RECORDS
