"""Statements with state in a real Spark: windows, groups, sessions, joins; what is exact behind kills and starts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from frazil.clients.kafka.headers import headers_of
from frazil.connectors.iceberg.table.commit import STATE, Commit, TableBranch, summary_of
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
    assert (second.read, second.stored, second.skipped_by_reason) == (2, 2, {"state": 2})
    assert third.state is not None and second.state is not None
    assert (second.state.late, third.state.late) == (0, 1)
    assert third.state.watermark_ms == at(190).timestamp() * 1000
    assert third.state.rows == 1


def test_groups_are_upserts_that_every_batch_brings_up_to_date(made: Memory, streams: Any) -> None:
    broker, _ = made
    driver = streams(COUNTS)
    for first in (0, 10):
        broker.send("t", [click(n, n, "ab"[n % 2]) for n in range(first, first + 10)])
        driver.take()
    assert driver.found("page", "n", "newest") == [("a", 10, 18), ("b", 10, 19)]
    broker.send("t", [click(20, 20, "c")])
    driver.take()
    assert driver.found("page", "n") == [("a", 10), ("b", 10), ("c", 1)]
    assert driver.reports[-1].stored == 1, "groups without a new record are not written again"


def test_records_that_come_again_within_the_watermark_are_left_out(made: Memory, streams: Any) -> None:
    broker, _ = made
    config = {"frazil.sql": "SELECT id, page FROM t", "frazil.dedup.keys": "id"}
    driver = streams({**MINUTES, **config})
    broker.send("t", [click(1, 1), click(2, 2), click(1, 1)])
    driver.take()
    broker.send("t", [click(2, 2), click(3, 5), click(4, 60), click(4, 61)])
    driver.take()
    assert driver.found("id") == [(1,), (2,), (3,), (4,)]


def test_a_session_ends_where_nothing_came_for_its_gap(made: Memory, streams: Any) -> None:
    broker, _ = made
    sql = (
        "SELECT session_window.start AS since, session_window.end AS until, page, count(*) AS n FROM t "
        "GROUP BY session_window(at, '5 seconds'), page"
    )
    driver = streams({**MINUTES, "frazil.sql": sql})
    broker.send("t", [click(1, 0), click(2, 4)])
    driver.take()
    broker.send("t", [click(3, 8), click(4, 20), click(5, 60)])
    driver.take()
    assert driver.found("since", "until", "n") == [(at(0), at(13), 3), (at(20), at(25), 1)]


def test_two_topics_are_joined_within_bounds_and_what_has_no_partner_comes_when_its_time_is_over(
    made: Memory, streams: Any
) -> None:
    broker, _ = made
    broker.make("u")
    sql = (
        "SELECT t.id, u.page AS bought FROM t LEFT JOIN u "
        "ON t.id = u.id AND u.at BETWEEN t.at AND t.at + INTERVAL 20 SECONDS"
    )
    driver = streams({**MINUTES, "topics": "t,u", "frazil.sql": sql})
    broker.send("t", [click(1, 0), click(2, 1), click(3, 2)])
    broker.send("u", [click(1, 10, "x"), click(2, 40, "late")])
    driver.take()
    broker.send("u", [click(3, 15, "y")])
    driver.take()
    for topic in ("t", "u"):
        broker.send(topic, [click(9, 200)])
    driver.take()
    rows = {row["id"]: row["bought"] for row in driver.rows(TABLE)}
    assert rows == {1: "x", 2: None, 3: "y", 9: "a"}


def test_a_record_that_an_expression_fails_on_is_a_dead_letter_alone(made: Memory, streams: Any) -> None:
    broker, _ = made
    driver = streams({**MINUTES, **TOLERANT})
    broker.send("t", [click(n, n) for n in (1, 2)])
    driver.take()
    broker.send("t", [click(n, n) for n in range(10, 16)] + [b"no json", click(20, 100)])
    driver.take()
    assert sorted(broker.letters("t-dlq")) == [("t", 0, 5, ""), ("t", 0, 8, "")]
    assert driver.found("minute", "n") == [(at(0), 7)]
    assert sum(report.skipped_by_reason["state"] for report in driver.reports) == 8


def test_late_records_are_dead_letters_where_that_is_wanted(made: Memory, streams: Any) -> None:
    broker, _ = made
    driver = streams({**MINUTES, **TOLERANT, "frazil.late": "dead-letter"})
    broker.send("t", [click(1, 30), click(2, 65)])
    driver.take()
    broker.send("t", [click(3, 54), click(4, 56), click(5, 100)])
    driver.take()
    assert sorted(broker.letters("t-dlq")) == [("t", 0, 2, "")]
    said = dict(headers_of(broker.records("t-dlq")[0]))["__connect.errors.exception.message"] or b""
    assert b"it is late: before the watermark 2026-01-01T00:00:55" in said
    assert driver.found("minute", "n") == [(at(0), 2)]


def test_rows_and_state_are_one_commit_wherever_a_worker_is_killed(made: Memory, streams: Any) -> None:
    broker, catalog = made
    chance = random.Random(7)
    driver = streams({**MINUTES, "frazil.sql": MINUTES["frazil.sql"].replace("sum(100 / (id - 13))", "sum(id)")})
    wanted: dict[tuple[datetime, str], list[int]] = {}
    number = 0
    for second in range(0, 300, 30):
        moments = [max(0.0, second + chance.uniform(-9, 0)) for _ in range(20)]
        batch = [(number + n, moment, chance.choice("abc")) for n, moment in enumerate(moments)]
        number += len(batch)
        broker.send("t", [click(*one) for one in batch])
        for one, moment, page in batch:
            wanted.setdefault((at(moment // 60 * 60), page), []).append(one)
        catalog.faults[:] = [chance.choice(["killed before", "killed after"])] if second else []
        try:
            driver.restart()
            driver.drain()
        except Killed:
            driver.restart()
            driver.drain()
    broker.send("t", [click(number, 1000)])
    driver.take()
    assert driver.found("minute", "page", "n", "parts") == sorted(
        (minute, page, len(ids), sum(ids)) for (minute, page), ids in wanted.items()
    )
    assert 0 < len(list(stored(driver))) < 200, "files of earlier batches are removed"


def stored(driver: Stream) -> Iterator[Path]:
    folder = Path(driver.catalog.load_table(TABLE).location().removeprefix("file://")) / FOLDER
    return (path for path in folder.rglob("*") if path.is_file())


def test_state_that_is_lost_stops_the_connector_before_it_reads(made: Memory, streams: Any) -> None:
    broker, catalog = made
    driver = streams(COUNTS)
    broker.send("t", [click(1, 1)])
    driver.take()
    snapshot = catalog.load_table(TABLE).current_snapshot()
    assert snapshot is not None
    Path(summary_of(snapshot)[STATE].removeprefix("file://")).unlink()
    with pytest.raises(PositionLost, match=r"the state of the statement is lost: .*Reset the offsets"):
        driver.restart()


def test_a_position_without_state_goes_on_only_where_a_user_has_set_it(made: Memory, streams: Any) -> None:
    broker, catalog = made
    plain = streams({**MINUTES, "frazil.sql": "SELECT page, id AS n, id AS newest FROM t"})
    broker.send("t", [click(1, 1)])
    plain.take()
    counts = {**COUNTS, "iceberg.tables.upsert-mode-enabled": "false", "frazil.watermark": "at 1 second"}
    counts["frazil.sql"] = "SELECT page, count(*) AS n FROM t GROUP BY page, window(at, '1 minute')"
    with pytest.raises(PositionLost, match=r"no state of its statement, .* Alter the offsets"):
        streams(counts)
    target = TableBranch(catalog, TABLE, "main")
    table = target.load()
    floor = target.floor(table, "c")
    target.commit(table, floor, Commit("c", [], {}, floor.offsets, floor.identity, None, altered=True))
    driver = streams(counts)
    broker.send("t", [click(2, 2), click(3, 90)])
    driver.take()
    assert driver.found("page", "n") == [("a", 1), ("a", 1)]


def test_another_statement_does_not_take_the_state_over(made: Memory, streams: Any) -> None:
    broker, _ = made
    driver = streams(COUNTS)
    broker.send("t", [click(1, 1)])
    driver.take()
    with pytest.raises(ConfigError, match=r"is that of the statement before. Nothing was read"):
        streams(COUNTS, **{"frazil.sql": COUNTS["frazil.sql"].replace("max(id)", "min(id)")})


def test_a_row_that_the_table_refuses_stops_the_connector(made: Memory, streams: Any) -> None:
    broker, _ = made
    driver = streams({**COUNTS, **TOLERANT})
    broker.send("t", [b'{"id": 1}'])
    with pytest.raises(TerminalError, match=r"refuses a row of the statement"):
        driver.take()


def test_statements_that_streams_cannot_have_are_refused_at_the_start(made: Memory, streams: Any) -> None:
    sql = "SELECT page, count(*) AS n FROM t GROUP BY page"
    with pytest.raises(ConfigError, match=r"frazil.sql: .*watermark"):
        streams({**MINUTES, "frazil.sql": sql})


@pytest.mark.faults
def test_a_state_of_many_bytes_goes_on_where_nothing_is_on_the_disk(made: Memory, streams: Any) -> None:
    broker, _ = made
    config = {**MINUTES, "frazil.sql": "SELECT id FROM t", "frazil.dedup.keys": "page", "frazil.watermark": "at 1 day"}
    for first in (0, 2_000):
        broker.send("t", [click(n, 1, f"{n:0>4000}") for n in range(first, first + 4_000)])
        driver = streams(config)  # with nothing on its disk but what the store has
        driver.drain()
        driver.end()
    assert driver.found("id") == [(n,) for n in range(6_000)]
    state = driver.reports[-1].state
    assert state is not None
    assert state.rows == 6_000
