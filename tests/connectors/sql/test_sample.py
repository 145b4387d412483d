"""What `validate --sample` tells of a statement."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from frazil.clients import catalog as catalogs
from frazil.clients.kafka import peek
from frazil.connectors.sample import Judged
from frazil.connectors.sql import found_columns, runs
from frazil.connectors.sql.config import sql_topic_config
from frazil.connectors.sql.sample import sample
from frazil.connectors.sql.sink import SqlSink
from frazil.environment.settings import Settings
from tests.connectors.iceberg.driver import SIMPLE, TABLE, memory
from tests.connectors.samples import MINIMAL_SINK
from tests.connectors.sql.driver import OF_QUERY, PythonQuery, Rows, SessionExecutor, failure

TO_TOPIC = {
    "name": "c",
    "topics": "t",
    "frazil.sql.topic": "rows",
    **{key: MINIMAL_SINK[key] for key in MINIMAL_SINK if "converter" in key},
}


@pytest.fixture
def patched() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def test_each_record_is_judged_by_its_rows_and_nothing_is_written(
    patched: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def exploded(row: dict[str, Any]) -> Rows:
        if row["id"] == 3:
            raise failure()
        return [{"id": item, "text": row["text"]} for item in row["items"] or ()]

    query = PythonQuery(exploded)
    patched.setattr(runs, "Query", query)
    with memory({TABLE: SIMPLE}) as (broker, catalog):
        patched.setattr(catalogs, "connect", lambda *_: catalog)
        values = [{"id": 0, "text": "a", "items": [1, 2]}, {"id": 1}, {"id": "x"}, {"id": 3}, {"id": 4, "items": [5]}]
        broker.send("t", [*(json.dumps(value).encode() for value in values), None])
        patched.setattr(peek, "newest_records", lambda *_: broker.records("t"))
        sink = SqlSink({**MINIMAL_SINK, **OF_QUERY}, Settings({}), Settings({}).bootstrap_servers)
        found = sink.sample(6, 2, lambda step: None, SessionExecutor)
        assert catalog.load_table(TABLE).current_snapshot() is None
    assert [(one.offset, one.verdict) for one in found.judged] == [
        (0, "stored"),
        (1, "skipped"),
        (2, "dead letter"),
        (3, "dead letter"),
        (4, "stored"),
        (5, "skipped"),
    ]
    assert found.judged[1] == Judged("t", 0, 1, TABLE, "skipped", "the statement has no row for it")
    assert "DIVIDE_BY_ZERO" in found.judged[3].reason
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == [
        f"topic t, partition 0, offset 3: {found.judged[3].reason}"
    ]
    assert found.judged[5].reason == "tombstone"
    assert not found.warnings
    assert found.tables[0].rows == [{"id": 1, "text": "a"}, {"id": 2, "text": "a"}]


def test_rows_for_a_topic_or_objects_are_shown_as_the_statement_makes_them(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(runs, "Query", PythonQuery(lambda row: [{"id": row["id"], "text": row["text"]}] * 2))
    config, own = sql_topic_config({**TO_TOPIC, **OF_QUERY})
    with memory({}) as (broker, _):
        broker.send("t", [b'{"id": 1, "text": "a"}', b"no json", b'{"id": 2}'])
        found = sample(config, own, list, broker.records("t"), 3, SessionExecutor(), "rows")
    assert [(one.offset, one.table, one.verdict) for one in found.judged] == [
        (0, "rows", "stored"),
        (1, "rows", "dead letter"),
        (2, "rows", "stored"),
    ]
    (table,) = found.tables
    assert table.rows == [{"id": 1, "text": "a"}, {"id": 1, "text": "a"}, {"id": 2, "text": None}]


def test_columns_that_are_text_because_records_differ_are_warned_of(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(runs, "Query", PythonQuery(lambda row: [row]))
    with memory({TABLE: SIMPLE}) as (broker, catalog):
        patched.setattr(catalogs, "connect", lambda *_: catalog)
        broker.send("t", [b'{"id": 1, "text": 1}', b'{"id": 2, "text": "a"}'])
        for module in (peek, found_columns):
            patched.setattr(module, "newest_records", lambda *_: broker.records("t"))
        columns = {"frazil.sql.schema": "inferred", "frazil.sql.columns.t": "id BIGINT, text STRING"}
        sink = SqlSink({**MINIMAL_SINK, **OF_QUERY, **columns}, Settings({}), Settings({}).bootstrap_servers)
        (warning,) = sink.sample(2, 2, lambda step: None, SessionExecutor).warnings
    assert warning.startswith("column text of t is STRING, since the newest records have values of several kinds")
