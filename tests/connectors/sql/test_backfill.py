"""Backfills: the rows of a span of the topics are there once, and the connector's position stays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from frazil.connectors.backfill import span_of
from frazil.connectors.iceberg.table.commit import summary_of
from frazil.connectors.sql import runs
from frazil.connectors.sql.backfill import StatementBackfill
from frazil.connectors.sql.config import sql_config
from frazil.engine.jobs import SparkJobs
from frazil.errors import BadRecord, PositionLost, TerminalError
from frazil.pipeline.executor import Executor
from frazil.pipeline.report import BatchReport
from tests.connectors.broker import BOOTSTRAP, Killed
from tests.connectors.iceberg.driver import CREATE, TABLE, TOLERANT, Memory, memory
from tests.connectors.samples import MINIMAL_SINK
from tests.connectors.sql.driver import STATEMENT, PythonQuery, Rows, SessionExecutor, SqlDriver, failure, snapshot

HOUR_MS = 3_600_000


@pytest.fixture
def patched() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "Query", PythonQuery(same))
        yield patch


def same(row: dict[str, Any]) -> Rows:
    if row["id"] == 13:
        raise failure()
    return [{"id": row["id"], "text": row["text"]}]


def send(memory: Memory, hour: int, *ids: int) -> None:
    memory[0].send("t", [json.dumps({"id": each}).encode() for each in ids], stamp=hour * HOUR_MS)


class Backfill:
    """A backfill of connector `c` over the hours from `since` to before `until`."""

    def __init__(
        self, memory: Memory, since: int | None = None, until: int | None = None, **config: str | Mapping[str, str]
    ) -> None:
        self.broker, self.catalog = memory
        own: Any = config.get("config", {})
        parsed, statement = sql_config({**MINIMAL_SINK, **STATEMENT, **own})
        begin, end = (None if hour is None else hour * HOUR_MS for hour in (since, until))
        span = span_of(parsed, BOOTSTRAP, parsed.topics, begin, end)
        self.made = StatementBackfill(statement, parsed, BOOTSTRAP, self.catalog, span)
        self.tolerant = parsed.errors_tolerance == "all"

    def run(self, executor: Executor | None = None) -> BatchReport:
        queue = self.broker.queue(self.made.position, "t") if self.tolerant else None
        source = snapshot(self.broker, self.made.topics)
        return self.made.run(executor or SessionExecutor(), source, queue)

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.catalog.load_table(TABLE).scan().to_arrow().to_pylist()
        return found

    def ids(self) -> list[int]:
        return sorted(row["id"] for row in self.rows())


def test_rows_of_a_span_are_one_commit_that_is_made_once(one: Memory, patched: pytest.MonkeyPatch) -> None:
    for hour in range(4):
        send(one, hour, hour * 10, hour * 10 + 1)
    backfill = Backfill(one, 1, 3)
    assert backfill.made.standing() == (False, [])
    report = backfill.run()
    assert (report.read, report.stored) == (4, 4)
    assert backfill.ids() == [10, 11, 20, 21]
    assert Backfill(one, 1, 3).made.standing() == (True, [])
    backfill.run()
    assert len(backfill.rows()) == 4, "the table has them by now"
    snapshots = one[1].load_table(TABLE).metadata.snapshots
    assert len(snapshots) == 1
    assert "kafka.connect.valid-through-ts" not in summary_of(snapshots[0])


def test_a_span_without_bounds_is_the_whole_topic(one: Memory, patched: pytest.MonkeyPatch) -> None:
    send(one, 0, 1)
    send(one, 1, 2)
    backfill = Backfill(one)
    backfill.run()
    assert backfill.ids() == [1, 2]
    assert Backfill(one, 5).made.span.ranges == [], "no record is as new"


def test_the_connector_goes_on_where_it_was_and_what_it_has_is_told(one: Memory, patched: pytest.MonkeyPatch) -> None:
    send(one, 0, 1, 2)
    driver = SqlDriver(patched, *one, {}, PythonQuery(same))
    driver.drain()
    send(one, 1, 3, 4)
    backfill = Backfill(one)
    assert backfill.made.standing() == (False, ["2 records of them are stored by c already"])
    Backfill(one, 1).run()
    driver.restart()
    assert driver.task.position == {("t", 0): 2}
    done, remarks = backfill.made.standing()
    assert not done
    assert remarks == [
        "2 records of them are stored by c already",
        f"2 records of them are stored by {Backfill(one, 1).made.position} already",
    ]


def test_a_bad_record_is_a_dead_letter_of_the_backfill_or_nothing_is_stored(
    one: Memory, patched: pytest.MonkeyPatch
) -> None:
    send(one, 0, 12, 13, 14)
    one[0].send("t", [b"no json"], stamp=1)
    backfill = Backfill(one)
    with pytest.raises(BadRecord, match="Nothing was stored"):
        backfill.run()
    assert backfill.rows() == []
    backfill = Backfill(one, config=TOLERANT)
    report = backfill.run()
    assert (report.stored, report.dead_letters) == (2, 2)
    assert backfill.ids() == [12, 14]
    assert sorted(one[0].letters("t-dlq")) == [("t", 0, 1, ""), ("t", 0, 3, "")]


@pytest.mark.parametrize("when", ["killed before", "killed after"])
def test_a_backfill_that_was_killed_is_repeated_without_harm(
    one: Memory, patched: pytest.MonkeyPatch, when: str
) -> None:
    send(one, 0, 1, 2)
    one[1].faults[:] = [when]
    with pytest.raises(Killed):
        Backfill(one).run()
    backfill = Backfill(one)
    assert backfill.made.standing()[0] is (when == "killed after")
    backfill.run()
    assert backfill.ids() == [1, 2]


def test_rows_that_replace_others_are_told_of(one: Memory, patched: pytest.MonkeyPatch) -> None:
    send(one, 0, 1)
    upserts = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}
    driver = SqlDriver(patched, *one, upserts, PythonQuery(same))
    driver.drain()
    backfill = Backfill(one, config=upserts)
    _, (remark,) = backfill.made.standing()
    assert remark == "Rows of c with the same ids are replaced by those of these records"
    backfill.run()
    assert backfill.ids() == [1]


def test_a_topic_that_was_made_anew_has_no_old_span(one: Memory, patched: pytest.MonkeyPatch) -> None:
    send(one, 0, 1)
    Backfill(one).run()
    one[0].make("t")
    send(one, 0, 2)
    with pytest.raises(PositionLost, match="topic t was deleted and made again"):
        Backfill(one).made.standing()


WINDOWS = {
    "frazil.sql.schema": "id BIGINT NOT NULL, at TIMESTAMP",
    "frazil.watermark": "at 1 second",
    "frazil.sql": "SELECT window.start AS minute, count(*) AS n, sum(100 / (id - 13)) AS parts FROM t "
    "GROUP BY window(at, '1 minute')",
    **CREATE,
}


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_windows_of_a_span_are_complete_whatever_the_order(jobs: SparkJobs) -> None:
    with memory({}) as made:
        times = [70, 5, 130, 59, 61, 0]
        values = [{"id": n, "at": f"2026-01-01T00:{at // 60:02}:{at % 60:02}Z"} for n, at in enumerate(times)]
        made[0].send("t", [json.dumps(each).encode() for each in values], stamp=1)
        backfill = Backfill(made, config=WINDOWS)
        report = backfill.run(jobs.of("c"))
        assert (report.read, report.stored, report.skipped_by_reason) == (6, 3, {"state": 6})
        assert sorted((row["minute"].minute, row["n"]) for row in backfill.rows()) == [(0, 3), (1, 2), (2, 1)]
        assert Backfill(made, config=WINDOWS).made.standing() == (True, [])


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_a_record_that_windows_fail_on_is_a_dead_letter_alone(jobs: SparkJobs) -> None:
    with memory({}) as made:
        values = [{"id": n, "at": "2026-01-01T00:00:00Z"} for n in (12, 13, 14)]
        made[0].send("t", [json.dumps(each).encode() for each in values], stamp=1)
        with pytest.raises((BadRecord, TerminalError)):
            Backfill(made, config=WINDOWS).run(jobs.of("c"))
        backfill = Backfill(made, config={**WINDOWS, **TOLERANT})
        backfill.run(jobs.of("c"))
        assert [row["n"] for row in backfill.rows()] == [2]
        assert sorted(made[0].letters("t-dlq")) == [("t", 0, 1, "")]
