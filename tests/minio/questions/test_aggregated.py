"""Questions to the tables of aggregates, worked out by hand; those of their connectors are in `deployment/`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, StringType, TimestamptzType

from frazil.minio.questions.aggregated import AGGREGATED
from frazil.minio.questions.bind import statement
from frazil.sql.engine import Engine
from tests.connectors.iceberg.memory import MemoryCatalog

BEGIN = datetime(2026, 3, 1, 10, tzinfo=UTC)
_TIME = pa.timestamp("us", tz="UTC")
_TYPES = {_TIME: TimestamptzType(), pa.int64(): LongType(), pa.float64(): DoubleType(), pa.string(): StringType()}
_NUMBERS = {"calls", "errors", "bytes_in", "bytes_out", "failed", "status"}


def at(minute: int) -> datetime:
    return BEGIN + timedelta(minutes=minute)


def call(minute: int, status: int, host: str) -> dict[str, Any]:
    made = {"session_key": "S", "who": "ada", "identity": "a", "assumed_by": "AssumeRole", "assumed_at": at(0)}
    own = {"time": at(minute), "api": "GetObject", "bucket": "b", "status": status, "source_host": host}
    return {**made, "assumed_from": "h0", **own}


MINUTE = {"bucket": "b", "errors": 1, "error_percent": 20.0, "bytes_in": 1, "bytes_out": 2}
ROWS: dict[str, list[dict[str, Any]]] = {
    "requests_per_minute": [{"minute": at(n), "calls": n, **MINUTE} for n in (1, 2, 90)],
    "latencies_per_5_minutes": [
        {
            "since": at(n),
            "api": "Get",
            "calls": 5,
            "p50_ms": n + 0.0,
            "p95_ms": 9.0,
            "p99_ms": 10.0 - n,
            "most_ms": 20.0,
        }
        for n in (0, 5)
    ],
    "failed_logins_per_10_minutes": [{"since": at(0), "source_host": "h", "failed": 2, "newest": at(3)}],
    "session_calls": [call(1, 200, "h1"), call(2, 403, "h2"), call(3, 200, "h2")],
}


def type_of(name: str, value: Any) -> pa.DataType:
    if isinstance(value, datetime):
        return _TIME
    return pa.int64() if name in _NUMBERS else pa.float64() if isinstance(value, float) else pa.string()


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("rates", [(at(2), "b", 2, 1, 20.0, 1, 2), (at(1), "b", 1, 1, 20.0, 1, 2)]),
        ("latencies", [("Get", at(0), 0.0, 9.0, 10.0, 20.0, 10)]),
        ("failed-logins", [(at(0), "h", 2, at(3))]),
        ("session-calls", [("S", "ada", "a", "AssumeRole", "h0", at(0), 3, 1, 1, 2, at(3))]),
    ],
)
def test_a_question_has_its_answer(name: str, answers: list[tuple[Any, ...]], tmp_path: Path) -> None:
    question = AGGREGATED[name]
    rows = ROWS[question.table]
    schema = pa.schema([(column, type_of(column, value)) for column, value in rows[0].items()])
    catalog = MemoryCatalog(tmp_path, {})
    catalog.create_namespace("db")
    named = Schema(*(NestedField(n, field.name, _TYPES[field.type]) for n, field in enumerate(schema, 1)))
    catalog.create_table(f"db.{question.table}", named).append(pa.Table.from_pylist(rows, schema))
    [found] = Engine(catalog, "file:///", "db").run(statement(question, {"since": BEGIN, "until": at(60), "rows": 5}))
    assert tuple(found.columns) == tuple(question.columns)
    assert [tuple(row) for row in found.rows] == answers
