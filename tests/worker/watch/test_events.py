from __future__ import annotations

import logging
from pathlib import Path

import pytest

from frazil.declare.providers import ConfigProviders, EnvironmentProvider
from frazil.text.events import event
from frazil.worker.watch import events
from frazil.worker.watch.events import EventHandler, EventLog


def messages(log: EventLog, connector: str | None = None) -> list[str]:
    return [each.message for each in log.newest(100, connector)]


def test_the_newest_come_first_and_outlive_the_worker(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", clock=lambda: 5.0)
    for number in range(5):
        log.add("running", f"{number}", "ab"[number % 2])
    log.add("request", "PUT", "a", "ann", "10.0.0.1")
    again = EventLog(tmp_path / "events.jsonl")
    assert messages(again) == ["PUT", "4", "3", "2", "1", "0"]
    assert messages(again, "b") == ["3", "1"]
    assert again.newest(1)[0] == events.Event(5.0, "request", "PUT", "a", "ann", "10.0.0.1")


def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEPT", 10)
    log = EventLog(tmp_path / "events.jsonl")
    for number in range(95):
        log.add("running", f"{number}" + "x" * 5000, "c" * 60_000, "u" * 60_000)
    lines = [path.read_text().splitlines() for path in sorted(tmp_path.iterdir())]
    assert [len(each) for each in lines] == [5, 10]
    assert max(len(line) for several in lines for line in several) < 3000
    assert [text.rstrip("x") for text in messages(EventLog(tmp_path / "events.jsonl"))] == [
        f"{number}" for number in range(94, 84, -1)
    ]
    assert len(log.newest(100, "c" * 60_000)) == 10


def test_a_line_that_a_kill_has_cut_off_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    EventLog(path).add("running", "whole")
    path.write_text(path.read_text() + '{"at": 1, "ki\n[]\n{"at": 1}\n')
    log = EventLog(path)
    log.add("running", "later")
    assert messages(log) == messages(EventLog(path)) == ["later", "whole"]


def test_a_disk_that_takes_no_more_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = EventLog(tmp_path / "missing" / "events.jsonl")
    for _ in range(3):
        log.add("running", "kept in memory")
    assert len(messages(log)) == 3
    assert caplog.text.count("events are not kept") == 1


def test_marked_log_records_are_events_without_secrets() -> None:
    providers = ConfigProviders({"env": EnvironmentProvider({"S": "s3cr3t"})})
    providers.resolve({"k": "${env:S}"})
    log = EventLog()
    logger = logging.getLogger("tests.events")
    logger.setLevel(logging.INFO)
    handler = EventHandler(log, providers)
    logger.addHandler(handler)
    try:
        logger.info("no event")
        logger.error("failed with %s", "s3cr3t", extra=event("failed", "c"))
        logger.info("ready", extra=event("worker ready"))
    finally:
        logger.removeHandler(handler)
    assert [(each.kind, each.connector, each.message) for each in log.newest(9)] == [
        ("worker ready", "", "ready"),
        ("failed", "c", "failed with [hidden]"),
    ]


def test_events_are_counted_for_connectors_that_are_present(monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog()
    handler = EventHandler(log, ConfigProviders({}))
    for kind, connector in (("running", "a"), ("running", "a"), ("table evolved", "b"), ("worker ready", "")):
        record = logging.LogRecord("n", logging.INFO, "", 0, "m", (), None)
        vars(record).update(event(kind, connector))
        handler.emit(record)
    log.add("request", "PUT", "c")
    assert log.counts({"a", "b"}) == {("a", "running"): 2, ("b", "table evolved"): 1, ("", "worker ready"): 1}
    assert log.counts({"b"}) == {("b", "table evolved"): 1, ("", "worker ready"): 1}
    assert log.counts({"a", "b"}) == log.counts({"b"})
    monkeypatch.setattr(events, "_MOST_COUNTS", 3)
    for number in range(9):
        log.count("running", f"c{number}")
    assert len(log.counts({f"c{number}" for number in range(9)})) <= 3
