"""Backfills of the rows of a table: the statement's rows of one snapshot are there once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
    TimeType,
)

from frazil.clients.data_files import arrow_schema
from frazil.clients.kafka.ranges import Range
from frazil.connectors.sql.config import sql_config
from frazil.connectors.sql.table_backfill import TableBackfill
from frazil.engine.jobs import SparkJobs
from frazil.errors import BadRecord, ConfigError, NotFound, TerminalError, UsageError
from tests.connectors.broker import BOOTSTRAP, Killed
from tests.connectors.iceberg.driver import CREATE, TABLE, Memory, memory
from tests.connectors.samples import MINIMAL_SINK
from tests.connectors.sql.driver import STATEMENT

SOURCE = "db.source"
ITEM = StructType(NestedField(21, "sku", StringType()), NestedField(22, "n", LongType()))
COLUMNS = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "price", DecimalType(12, 2)),
    NestedField(3, "day", DateType()),
    NestedField(4, "at", TimestamptzType()),
    NestedField(5, "ratio", DoubleType()),
    NestedField(6, "raw", BinaryType()),
    NestedField(7, "items", ListType(20, ITEM, element_required=False)),
    NestedField(8, "clock", TimeType()),
)
TYPES = (
    "id BIGINT NOT NULL, price DECIMAL(12, 2), day DATE, at TIMESTAMP, ratio DOUBLE, raw BINARY, "
    "items ARRAY<STRUCT<sku: STRING, n: BIGINT>>"
)
AT = datetime(2026, 5, 1, 10, 0, 0, 123456, UTC)
ROW = {
    "price": Decimal("12345678.91"),
    "day": date(2026, 5, 1),
    "at": AT,
    "ratio": 0.1,
    "raw": b"\x00\xff",
    "items": [{"sku": "ice", "n": 2}, None],
}


def rows_of(*ids: int | None, **more: Any) -> pa.Table:
    schema = arrow_schema(COLUMNS.select(*(field.name for field in COLUMNS.fields if field.name != "clock")))
    return pa.Table.from_pylist([{"id": each, **ROW, **more} for each in ids], schema)


@pytest.fixture
def made() -> Iterator[Memory]:
    with memory({SOURCE: COLUMNS}) as found:
        table = found[1].load_table(SOURCE)
        table.append(rows_of(1, 2, 3))
        table.append(rows_of(4, 5))
        yield found


def backfill(memory: Memory, table: str = SOURCE, **config: str) -> TableBackfill:
    """A backfill; `config` with `__` for dots."""
    more = {key.replace("__", "."): text for key, text in config.items()}
    whole = {**MINIMAL_SINK, **STATEMENT, **CREATE, "frazil.sql.schema": TYPES, "frazil.sql": "SELECT * FROM t", **more}
    parsed, own = sql_config(whole)
    return TableBackfill.find(own, parsed, BOOTSTRAP, memory[1], table)


def stored(memory: Memory) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = memory[1].load_table(TABLE).scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: str(row.get("id")))


def test_rows_are_records_at_their_places_over_all_files(made: Memory) -> None:
    found = backfill(made)
    assert found.span.end == {("t", 0): 5}
    read = [list(found.source.read([Range("t", 0, *span)])) for span in ((0, 5), (1, 2), (2, 4), (5, 5))]
    assert [sum(map(len, chunks)) for chunks in read] == [5, 1, 2, 0]
    assert [at for rows in read[2] for at in rows.offsets.tolist()] == [2, 3]


def test_rows_that_were_deleted_are_none(made: Memory) -> None:
    made[1].load_table(SOURCE).delete("id = 2")
    (chunks,) = [list(backfill(made).source.read([Range("t", 0, 0, 99)]))]
    assert sum(map(len, chunks)) == 4


def test_what_a_table_cannot_stand_for_is_refused(made: Memory) -> None:
    for config, kind, said in (
        ({"frazil__sql": "SELECT id, _offset FROM t"}, UsageError, "without _offset"),
        ({"frazil__sql__schema": "id BIGINT, none STRING"}, ConfigError, "has no column none"),
        ({"frazil__sql__schema": "id BIGINT, clock TIMESTAMP"}, ConfigError, "columns of table db.source are none of"),
    ):
        with pytest.raises(kind, match=said):
            backfill(made, **config)
    both = {"topics": "t,u", "frazil__sql": "SELECT id FROM t UNION ALL SELECT id FROM u"}
    with pytest.raises(UsageError, match="reads several"):
        backfill(made, **both)
    with pytest.raises(NotFound, match=r"there is no table db\.none"):
        backfill(made, "db.none")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_values_are_those_of_the_table_and_are_stored_once(made: Memory, jobs: SparkJobs) -> None:
    found = backfill(made)
    assert found.standing() == (False, [])
    report = found.run(jobs.of("c"), found.source, None)
    assert (report.read, report.stored) == (5, 5)
    assert stored(made) == [{"id": number, **ROW} for number in range(1, 6)]
    assert backfill(made).standing() == (True, [])
    made[1].load_table(SOURCE).append(rows_of(6))
    done, (remark,) = backfill(made).standing()
    assert not done
    assert "has rows already" in remark


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
@pytest.mark.parametrize("when", ["killed before", "killed after"])
def test_groups_are_complete_and_a_kill_leaves_all_or_nothing(made: Memory, jobs: SparkJobs, when: str) -> None:
    groups = {
        "frazil__sql": "SELECT window.start AS minute, count(*) AS n FROM t GROUP BY window(at, '1 minute')",
        "frazil__watermark": "at 1 second",
    }
    found = backfill(made, **groups)
    made[1].faults[:] = [when]
    with pytest.raises(Killed):
        found.run(jobs.of("c"), found.source, None)
    again = backfill(made, **groups)
    assert again.standing()[0] is (when == "killed after")
    again.run(jobs.of("c"), again.source, None)
    assert [row["n"] for row in stored(made)] == [5]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_a_row_that_cannot_be_stored_is_an_error_and_nothing_is_stored(made: Memory, jobs: SparkJobs) -> None:
    made[1].load_table(SOURCE).append(rows_of(None))
    found = backfill(made, errors__tolerance="all")
    with pytest.raises(BadRecord, match="a record cannot be stored: .*id.*Nothing was stored"):
        found.run(jobs.of("c"), found.source, None)
    failing = backfill(made, frazil__sql="SELECT id, 1 / (id - 3) AS part FROM t WHERE id = 3")
    with pytest.raises((BadRecord, TerminalError)):
        failing.run(jobs.of("c"), failing.source, None)
    assert not made[1].table_exists(TABLE) or not stored(made)
