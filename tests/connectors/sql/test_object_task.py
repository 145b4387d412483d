"""Rows of a statement as objects, on a cluster in memory and a folder: what is where, exactly once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import BadRecord
from tests.connectors.broker import Broker, Killed
from tests.connectors.iceberg.driver import TOLERANT
from tests.connectors.sql.driver import PythonQuery, Rows, failure
from tests.connectors.sql.object_driver import ObjectDriver

COUNT = 40


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker().install(monkeypatch)
    made.make("t", 2)
    return made


def record(number: int, **more: Any) -> bytes:
    return json.dumps({"id": number, **more}).encode()


def exploded(row: dict[str, Any]) -> Rows:
    return [{"id": item, "text": row["text"]} for item in row["items"] or ()]


def dated(row: dict[str, Any]) -> Rows:
    return [{"id": day, "text": f"2026-01-{day:02}T00:00:00Z"} for day in row["items"]]


def failing(row: dict[str, Any]) -> Rows:
    if row["id"] % 10 == 7:
        raise failure()
    return exploded(row)


def test_the_rows_of_a_record_go_to_one_object_and_the_position_behind_it(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driver = ObjectDriver(monkeypatch, broker, tmp_path, {"flush.size": "3"}, PythonQuery(exploded))
    broker.send(
        "t", [record(n, items=[10 * n + item for item in range(count)]) for n, count in enumerate((0, 1, 2, 3, 2))]
    )
    driver.drain()
    found = {name: [row["id"] for row in rows] for name, rows in driver.rows().items()}
    assert found == {"t+0+0000000001.json": [10, 20, 21], "t+0+0000000003.json": [30, 31, 32]}
    assert driver.task.position == {("t", 0): 4, ("t", 1): 0}, "record 4 gives an object once it is full"
    (report,) = driver.reports
    assert (report.read, report.stored, report.skipped_by_reason) == (4, 6, {"statement": 1})
    broker.send("t", [record(5, items=[]), record(6, items=[60, 61, 62])])
    driver.drain()
    assert driver.task.position == {("t", 0): 7, ("t", 1): 0}
    assert [row["id"] for row in driver.rows()["t+0+0000000004.json"]] == [40, 41, 60, 61, 62]


@pytest.mark.parametrize("kind", ["json.JsonFormat", "parquet.ParquetFormat", "avro.AvroFormat"])
def test_records_that_the_statement_or_a_column_refuses_are_dead_letters_as_they_were(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    config = {"format.class": f"io.confluent.connect.s3.format.{kind}", "flush.size": "4", **TOLERANT}
    driver = ObjectDriver(monkeypatch, broker, tmp_path, config, PythonQuery(failing))
    broker.send("t", [record(n, items=[n, n]) for n in range(8)])
    broker.send("t", [b"no json", None, record(9, items=[9, 9]), record(10, items=[10, 10])])
    driver.drain()
    assert sorted(broker.letters("t-dlq")) == [("t", 0, 7, ""), ("t", 0, 8, "")]
    assert [one.value() for one in broker.records("t-dlq")] == [record(7, items=[7, 7]), b"no json"]
    stored = [row["id"] for rows in driver.rows().values() for row in rows]
    assert stored == [n for n in [*range(6), 6, 9] for _ in range(2)]
    report = driver.reports[-1]
    counts = report.read, report.stored, report.dead_letters, report.skipped_by_reason
    assert counts == (11, 16, 2, {"statement": 1})


@pytest.mark.parametrize("refused", [b"no json", record(7, items=[7])])
def test_nothing_behind_a_bad_record_is_stored_where_none_is_tolerated(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refused: bytes
) -> None:
    driver = ObjectDriver(monkeypatch, broker, tmp_path, {"flush.size": "2"}, PythonQuery(failing))
    broker.send("t", [*(record(n, items=[n]) for n in range(5)), refused, *(record(n, items=[n]) for n in range(8))])
    with pytest.raises(BadRecord, match="partition 0, offset 5"):
        driver.drain()
    assert driver.task.position[("t", 0)] == 4
    assert [row["id"] for rows in driver.rows().values() for row in rows] == [0, 1, 2, 3]


def test_a_row_that_no_folder_is_for_refuses_its_record_with_all_its_rows(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = {
        "partitioner.class": "io.confluent.connect.storage.partitioner.DailyPartitioner",
        "timestamp.extractor": "RecordField",
        "timestamp.field": "text",
        "locale": "en-US",
        "timezone": "UTC",
        "flush.size": "4",
        **TOLERANT,
    }
    driver = ObjectDriver(monkeypatch, broker, tmp_path, config, PythonQuery(dated))
    values = [record(n, items=[1, 2 if n != 1 else 40]) for n in range(5)]
    broker.send("t", values)
    driver.drain()
    assert [(offset, path) for _, _, offset, path in broker.letters("t-dlq")] == [(1, "")]
    assert [one.value() for one in broker.records("t-dlq")] == [values[1]]
    names = sorted(name.partition("/t/")[2] for name in driver.store.objects())
    assert names == [f"year=2026/month=01/day=0{day}/t+0+{first:010}.json" for day in (1, 2) for first in (0, 3)]


@pytest.mark.parametrize("compute", [exploded, failing])
def test_whenever_it_is_killed_the_objects_are_those_of_an_undisturbed_run(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compute: Callable[[dict[str, Any]], Rows]
) -> None:
    for n in range(COUNT):
        items = [100 * n + item for item in range(n * 7 % 5)]
        broker.send("t", [record(n, items=items) if n % 9 else b"no json"], partition=n % 2)
    config = {"flush.size": "6", "frazil.batch.max.records": "14", **TOLERANT}

    def driver(name: str) -> ObjectDriver:
        return ObjectDriver(monkeypatch, broker, tmp_path / name, {**config, "name": name}, PythonQuery(compute))

    whole = driver("whole")
    whole.drain()
    letters = sorted(broker.letters("t-dlq"))
    assert whole.rows() and letters
    killed = 0
    while True:
        one = driver(f"killed-{killed}")
        one.store.left = killed + 1
        try:
            one.drain()
        except Killed:
            killed += 1
        else:
            break
        one.restart()
        one.drain()
        assert one.rows() == whole.rows()
        assert one.task.position == whole.task.position
    assert killed == len(whole.rows())
    assert sorted(broker.letters("t-dlq")) == letters
