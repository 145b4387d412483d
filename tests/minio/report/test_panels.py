from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from frazil.minio.questions.catalog import QUESTIONS
from frazil.minio.report.page import Fact
from frazil.minio.report.panels import VIEWS, Span, facts, panel
from frazil.sql.result import Result

START = datetime(2026, 11, 28, tzinfo=UTC)
SPAN = Span(START, START + timedelta(hours=3))
VALUES: dict[str, Any] = {
    "hour": START,
    "time": START + timedelta(minutes=5),
    "calls": 10,
    "errors": 4,
    "bytes_in": 1000,
    "bytes_out": 2500,
    "duration_ms": 1500.0,
    "failed": 3,
    "times": 7,
    "status": 403,
    "outcome": "failure",
    "bucket": "photos",
    "who": "ada",
    "api": "GetObject",
    "node": "node-1",
    "reason": "Access Denied.",
    "message": "disk full",
    "category": "policy",
    **dict.fromkeys(("reads", "writes", "deletes", "lists"), 1),
}


def answer(question: str, *changes: dict[str, Any]) -> Result:
    """An answer with the question's columns: one row with VALUES, and one for each of `changes`."""
    columns = tuple(QUESTIONS[question].columns)
    rows = [tuple({**VALUES, **change}.get(name) for name in columns) for change in ({}, *changes)]
    return Result(columns, rows)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.title)
def test_every_view_draws_its_question_and_lists_its_rows(view: Any) -> None:
    shown = panel(view, answer(view.question), SPAN)
    assert "<svg" in shown.plot
    assert len(shown.rows) == 1
    assert len(shown.columns) == len(shown.rows[0])
    assert "{" not in shown.explanation
    assert not shown.failure


def test_complaints_of_several_servers_are_one_bar() -> None:
    [view] = [view for view in VIEWS if view.question == "server-errors"]
    other = {"node": "node-2", "message": "disk full (82CFE3A1F7B8E124)"}
    plot = panel(view, answer("server-errors", other), SPAN).plot
    assert plot.count(">disk full<") == 1
    assert "82CFE3A1F7B8E124" not in plot


@pytest.mark.parametrize("node", ["node-1.example.net:9000", "node-1:9000", "node-1"])
def test_bars_name_servers_without_domain_and_port(node: str) -> None:
    [view] = [view for view in VIEWS if view.question == "errors"]
    assert "403 GetObject node-1<" in panel(view, answer("errors", {"node": node}), SPAN).plot
    assert "403 GetObject 10.0.0.7<" in panel(view, answer("errors", {"node": "10.0.0.7:9000"}), SPAN).plot


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.title)
def test_values_that_are_missing_are_drawn_too(view: Any) -> None:
    nothing = dict.fromkeys(
        ("bucket", "who", "node", "reason", "message", "category", "outcome", "api", "origin", "status")
    )
    shown = panel(view, answer(view.question, nothing), SPAN)
    assert "<svg" in shown.plot


def test_sums_by_hour_and_by_bucket() -> None:
    later = {"hour": START + timedelta(hours=1), "calls": 1, "errors": 0}
    other = {"bucket": "logs", "calls": 5, "errors": 5}
    views = {view.title: view for view in VIEWS}
    hours = panel(views["Calls and errors"], answer("traffic", later, other), SPAN)
    assert [row[:3] for row in hours.rows] == [
        ["2026-11-28 00:00:00", "15", "9"],
        ["2026-11-28 01:00:00", "1", "0"],
    ]
    buckets = panel(views["Buckets"], answer("traffic", later, other), SPAN)
    assert [row[:3] for row in buckets.rows] == [["photos", "11", "4"], ["logs", "5", "5"]]


def test_a_long_list_is_cut_and_counted() -> None:
    view = next(view for view in VIEWS if view.question == "logins")
    shown = panel(view, answer("logins", *({} for _ in range(999))), SPAN)
    assert shown.rows_shown == "Table: 200 of 1,000 rows"


def test_figures() -> None:
    assert facts(answer("traffic", {"calls": 30, "bytes_in": 0}), answer("logins", {"outcome": "success"})) == [
        Fact("Calls", "40"),
        Fact("With errors", "8 (20.0%)"),
        Fact("Received", "1 kB"),
        Fact("Sent", "5 kB"),
        Fact("Deletions", "2"),
        Fact("Failed sign-ins", "1 of 2"),
    ]
    assert facts("no answer", "no answer") == []


def test_values_are_shown_without_control_characters_and_cut() -> None:
    [view] = [view for view in VIEWS if view.question == "slowest"]
    shown = panel(view, answer("slowest", {"who": "a\x00\x1b[31m\u202e\nb", "api": "x" * 5_000_000}), SPAN)
    cells = [cell for row in shown.rows for cell in row]
    assert "a\\x00\\x1b[31m\\u202e\nb" in cells
    assert f"{'x' * 2_000}…" in cells
    assert max(map(len, cells)) == 2_001
