"""Statements with state in a real Spark: windows, groups, sessions, joins; what is exact behind kills and starts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from frazil.connectors.iceberg.table.commit import STATE, summary_of
from frazil.connectors.sql.checkpoint import FOLDER
from frazil.engine.jobs import SparkJobs
from frazil.errors import ConfigError, PositionLost, TerminalError
from tests.connectors.broker import Killed
from tests.connectors.iceberg.driver import CREATE, TABLE, TOLERANT, Memory, memory
from tests.connectors.sql.driver import SqlDriver

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the socket that DataFrame.collect reads to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning"),
]

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MINUTES = {
    "frazil.sql.schema": "id BIGINT NOT NULL, page STRING, at TIMESTAMP",
    "frazil.watermark": "at 10 seconds",
    "frazil.sql": "SELECT window.start AS minute, page, count(*) AS n, sum(100 / (id - 13)) AS parts FROM t "
    "GROUP BY window(at, '1 minute'), page",
    **CREATE,
}
COUNTS = {
    "frazil.sql.schema": "id BIGINT NOT NULL, page STRING, at TIMESTAMP",
    "frazil.sql": "SELECT page, count(*) AS n, max(id) AS newest FROM t GROUP BY page",
    "iceberg.tables.upsert-mode-enabled": "true",
    "iceberg.tables.default-id-columns": "page",
    **CREATE,
}


@pytest.fixture
def jobs(spark: SparkSession) -> Iterator[SparkJobs]:
    made = SparkJobs(spark)
    yield made
    made.close()


@pytest.fixture
def made() -> Iterator[Memory]:
    with memory({}) as found:
        yield found


class Stream(SqlDriver):
    """A connector with state, which ends with the test."""

    def __init__(self, memory: Memory, jobs: SparkJobs, config: Mapping[str, str], **more: str) -> None:
        super().__init__(pytest.MonkeyPatch(), *memory, {**config, **more}, executor=jobs.of("c"))

    def take(self) -> None:
        """Take in what the topics have by now."""
        self.restart()
        self.drain()

    def end(self) -> None:
        self.task.close()

    def found(self, *names: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row[name] for name in names) for row in self.rows(TABLE))


@pytest.fixture
def streams(made: Memory, jobs: SparkJobs) -> Iterator[Any]:
    several: list[Stream] = []

    def start(config: Mapping[str, str], **more: str) -> Stream:
        several.append(Stream(made, jobs, config, **more))
        return several[-1]

    yield start
    for each in several:
        each.end()


def click(number: int, second: float, page: str = "a", **more: Any) -> bytes:
    return json.dumps({"id": number, "page": page, "at": at(second).isoformat(), **more}).encode()


def at(second: float) -> datetime:
    return BEGIN + timedelta(seconds=second)


def test_a_window_is_one_row_when_its_time_is_over_and_late_records_change_none(made: Memory, streams: Any) -> None:
    broker, _ = made
    driver = streams(MINUTES)
    broker.send("t", [click(1, 5), click(2, 50, "b"), click(3, 55), click(4, 65)])
    driver.take()
    assert driver.rows(TABLE) == [], "10 seconds are waited for records of the minute"
    broker.send("t", [click(5, 59), click(6, 71)])
    driver.take()
    assert driver.found("minute", "page", "n") == [(at(0), "a", 3), (at(0), "b", 1)]
    broker.send("t", [click(7, 30), click(8, 200)])
    driver.take()
    assert driver.found("minute", "n")[2:] == [(at(60), 2)]
    first, second, third = driver.reports
    assert (first.read, first.stored, first.skipped_by_reason) == (4, 0, {"state": 4})
    assert (second.read, second.stored, second.skipped_by_reason) == (4, 2, {"state": 2})
    assert third.state is not None and second.state is not None
    assert (second.state.late, third.state.late) == (0, 1)
    assert third.state.watermark_ms == at(190).timestamp() * 1000
    assert third.state.rows == 1
