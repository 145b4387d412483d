"""The worker is killed while statements keep state: windows and joins are those of all records, each once."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from frazil.clients.kafka import topics as kafka_topics
from frazil.stack.local import LocalStack
from tests.cli.programs import finished, program
from tests.harness import Pipe, own_worker
from tests.waits import eventually

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.timeout(900)]

KILLS = 10

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MINUTES = Schema(
    NestedField(1, "since", TimestamptzType()), NestedField(2, "page", StringType()), NestedField(3, "n", LongType())
)
PAIRS = Schema(NestedField(1, "id", LongType()), NestedField(2, "page", StringType()))
STATE = {
    "connector.class": "SqlSink",
    "frazil.sql.schema": "id BIGINT NOT NULL, page STRING, at TIMESTAMP",
    "frazil.watermark": "at 30 seconds",
}


class Clicks(threading.Thread):
    """Sends clicks whose times are up to five seconds out of order, and for every third an answer."""

    def __init__(self, bootstrap: str, clicks: str, answers: str, seed: int) -> None:
        super().__init__()
        self.windows: Counter[tuple[datetime, str]] = Counter()
        self.pairs: list[tuple[int, str]] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        self._topics = clicks, answers
        self._chance = random.Random(seed)
        self._stopped = threading.Event()
        self._number = 0

    def run(self) -> None:
        while not self._stopped.wait(0.2 if self._number < 60_000 else 4):  # never more than a slow machine can read
            for _ in range(400):
                self._number += 1
                second, page = round(self._number / 200 + self._chance.uniform(0, 5), 3), self._chance.choice("abc")
                self._send(self._topics[0], self._number, page, second)
                self.windows[BEGIN + timedelta(seconds=second // 10 * 10), page] += 1
                if self._number % 3 == 0:
                    self._send(self._topics[1], self._number, page, second + self._chance.uniform(0, 4))
                    self.pairs.append((self._number, page))
            assert self._producer.flush(30) == 0

    def stop(self) -> None:
        """End with records that close all windows."""
        self._stopped.set()
        self.join()
        for topic in self._topics:
            self._send(topic, 0, "end", 1_000_000)
        assert self._producer.flush(30) == 0

    def _send(self, topic: str, number: int, page: str, second: float) -> None:
        record = {"id": number, "page": page, "at": (BEGIN + timedelta(seconds=second)).isoformat()}
        self._producer.produce(topic, json.dumps(record).encode(), partition=number % 3)


def test_ten_kills_leave_the_windows_and_pairs_of_all_records(stack: LocalStack, tmp_path: Path) -> None:
    worker = own_worker(stack.settings, tmp_path / "first")
    windows = Pipe(worker.settings, "clicks", MINUTES, UNPARTITIONED_PARTITION_SPEC).create()
    pairs = Pipe(worker.settings, "pairs", PAIRS, UNPARTITIONED_PARTITION_SPEC).create()
    answers = "answers"
    kafka_topics.ensure_topics(stack.settings.bootstrap_servers, {answers: (3, {})})
    of_windows = windows.config() | STATE | {
        "frazil.sql": f"SELECT window.start AS since, page, count(*) AS n FROM {windows.name} "  # noqa: S608
        "GROUP BY window(at, '10 seconds'), page",
    }  # fmt: skip
    of_pairs = pairs.config() | STATE | {
        "topics": f"{windows.name},{answers}",
        "frazil.sql": f"SELECT c.id, a.page FROM {windows.name} c JOIN {answers} a ON c.id = a.id "  # noqa: S608
        "AND c.id > 0 AND a.at BETWEEN c.at AND c.at + INTERVAL 10 SECONDS",
    }  # fmt: skip
    chance = random.Random(KILLS)
    clicks = Clicks(stack.settings.bootstrap_servers, windows.name, answers, KILLS)
    clicks.start()
    try:
        for kill in range(KILLS):
            worker.start()
            if kill == 0:
                worker.client.put_config(windows.connector, of_windows)
                worker.client.put_config(pairs.connector, of_pairs)
            before = windows.snapshots(), pairs.snapshots()
            if kill % 3 != 2:
                eventually(lambda before=before: windows.snapshots() > before[0])  # type: ignore[misc]
                eventually(lambda before=before: pairs.snapshots() > before[1])  # type: ignore[misc]
            time.sleep(chance.uniform(0, 2.5))
            worker.client.close()
            worker.kill()
    finally:
        clicks.stop()

    with own_worker(stack.settings, tmp_path / "another") as another:  # which has no state of its own
        another.client.put_config(windows.connector, of_windows)
        another.client.put_config(pairs.connector, of_pairs)
        eventually(lambda: len(windows.rows()) >= len(clicks.windows) and len(pairs.rows()) >= len(clicks.pairs))
        found = sorted((row["since"], row["page"], row["n"]) for row in windows.rows())
        assert found == sorted((*window, count) for window, count in clicks.windows.items())
        assert sorted((row["id"], row["page"]) for row in pairs.rows()) == sorted(clicks.pairs)
    for pipe, config, columns in ((windows, of_windows, ("since", "page", "n")), (pairs, of_pairs, ("id", "page"))):
        batch = rows_of_a_batch(pipe, config, tmp_path)
        assert sorted(tuple(row[column] for column in columns) for row in batch) == sorted(
            tuple(row[column] for column in columns) for row in pipe.rows()
        )


def rows_of_a_batch(pipe: Pipe, config: dict[str, str], home: Path) -> list[dict[str, Any]]:
    """The rows that one batch over the whole topics makes, but those of the last record, whose window stays open."""
    table, file = f"{pipe.table_name}_batch", home / f"{pipe.name}.json"
    own = {"name": f"{pipe.connector}-batch", "iceberg.tables": table, "iceberg.tables.auto-create-enabled": "true"}
    file.write_text(json.dumps(config | own))
    code, output = finished(program(pipe.settings, "backfill", str(file)))
    assert code == 0, output
    found = pipe.catalog().load_table(table).scan().to_arrow().to_pylist()
    return [row for row in found if row["page"] != "end"]
