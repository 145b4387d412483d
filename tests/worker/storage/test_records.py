from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.engine.runner_api import TargetState
from frazil.worker.lifecycle.status import OwnStatus
from frazil.worker.storage import records
from frazil.worker.storage.records import (
    ConfigRecord,
    LoggerRecord,
    Malformed,
    StatusRecord,
    TargetRecord,
    TopicRecord,
    WorkerRecord,
)

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(_TEXT, st.dictionaries(_TEXT, _TEXT))
def test_configurations_come_back_as_they_were(name: str, config: dict[str, str]) -> None:
    assert records.parse_config(*records.config_record(name, config)) == ConfigRecord(name, config)


def test_the_records_are_those_of_kafka_connect() -> None:
    assert records.config_record("a-b", {"name": "a-b"}) == ("connector-a-b", b'{"properties":{"name":"a-b"}}')
    assert records.config_record("a", None) == ("connector-a", None)
    assert records.target_record("a", "RUNNING") == ("target-state-a", b'{"state":"STARTED","state.v2":"STARTED"}')
    assert records.target_record("a", "STOPPED") == ("target-state-a", b'{"state":"PAUSED","state.v2":"STOPPED"}')
    assert records.target_record("a", "PAUSED") == ("target-state-a", b'{"state":"PAUSED","state.v2":"PAUSED"}')
    key, value = records.status_record("a", 1, OwnStatus("FAILED", "h:1", "why"), "0.1")
    assert (key, json.loads(value or b"")) == (
        "status-task-a-1",
        {"state": "FAILED", "trace": "why", "worker_id": "h:1", "generation": 0, "version": "0.1"},
    )
    assert records.topic_record("a", "t", None) == ("status-topic-t:connector-a", None)


@pytest.mark.parametrize("target", ["RUNNING", "PAUSED", "STOPPED", None])
def test_target_states_come_back(target: TargetState | None) -> None:
    assert records.parse_config(*records.target_record("x", target)) == TargetRecord("x", target)


def test_target_states_of_older_workers() -> None:
    assert records.parse_config("target-state-x", b'{"state":"STARTED"}') == TargetRecord("x", "RUNNING")
    assert records.parse_config("target-state-x", b'{"state":"PAUSED","state.v2":null}') == TargetRecord("x", "PAUSED")


def test_values_with_a_schema_around_them() -> None:
    value = json.dumps({"schema": {"type": "struct"}, "payload": {"properties": {"name": "x", "gone": None}}})
    assert records.parse_config("connector-x", value.encode()) == ConfigRecord("x", {"name": "x"})


def test_workers() -> None:
    worker = WorkerRecord("h:1", "http://h:1", frozenset({3, 1}))
    assert records.worker_record(worker) == ("worker-h:1", b'{"url":"http://h:1","partitions":[1,3]}')
    assert records.parse_status(*records.worker_record(worker)) == worker
    assert records.parse_status("worker-h:1", None) == WorkerRecord("h:1", None)
    with pytest.raises(Malformed):
        records.parse_status("worker-h:1", b'{"url":"http://h:1","partitions":["1"]}')


def test_loggers() -> None:
    assert records.parse_config(*records.logger_record("frazil.x", "DEBUG")) == LoggerRecord("frazil.x", "DEBUG")
    assert records.parse_config("logger-cluster-x", b'{"level":"warn"}') == LoggerRecord("x", "WARN")
    with pytest.raises(Malformed, match="there is no level LOUD"):
        records.parse_config("logger-cluster-x", b'{"level":"LOUD"}')


def test_names_with_the_marks_of_keys_in_them() -> None:
    status = OwnStatus("RUNNING", "h:1")
    for name in ("a-1", "x:connector-y", "-", "status-task-b-2"):
        assert records.parse_status(*records.status_record(name, 3, status, "1")) == StatusRecord(name, 3, status)
        assert records.parse_status(*records.status_record(name, None, None, "1")) == StatusRecord(name, None, None)
        assert records.parse_status(*records.topic_record(name, "t.1", 5)) == TopicRecord(name, "t.1", True)


@pytest.mark.parametrize("key", ["task-x-0", "commit-x", "restart-connector-x", "", "other"])
def test_records_of_other_kinds_are_not_of_concern(key: str) -> None:
    assert records.parse_config(key, b"\xff") is None
    assert records.parse_status(key, b"\xff") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("connector-x", b"{"),
        ("connector-x", b"[]"),
        ("connector-x", b"{}"),
        ("connector-x", b'{"properties": {"a": 1}}'),
        ("target-state-x", b'{"state": "ASLEEP"}'),
        ("target-state-x", b"{}"),
    ],
)
def test_a_value_that_cannot_be_one_is_told(key: str, value: bytes) -> None:
    with pytest.raises(Malformed):
        records.parse_config(key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status-connector-x", b'{"state": "DESTROYED", "worker_id": "h"}'),
        ("status-connector-x", b'{"state": "RUNNING"}'),
        ("status-task-x-a", b'{"state": "RUNNING", "worker_id": "h"}'),
        ("status-topic-t", b"{}"),
    ],
)
def test_a_status_that_cannot_be_one_is_told(key: str, value: bytes) -> None:
    with pytest.raises(Malformed):
        records.parse_status(key, value)
