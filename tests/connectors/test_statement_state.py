"""What metrics say of the state of a statement."""

from __future__ import annotations

from dataclasses import replace

from frazil.connectors.statement_state import changed, kept
from frazil.pipeline.results import State
from frazil.worker.watch.metrics import Metrics
from tests.worker.watch.test_metrics import report


def test_the_state_of_a_connector_is_told_from_the_metrics_of_its_worker() -> None:
    metrics = Metrics(dict, lambda: {"c": "RUNNING", "other": "RUNNING"})
    metrics.observe(replace(report(), state=State("s3://b/m", 1200, 3_500_000, 1_700_000_000_000, 0)))
    found = list(metrics.collect())
    assert kept(found, "c") == [("State", "1,200 rows, 3.3 MiB"), ("Watermark", "2023-11-14 22:13:20 UTC")]
    assert kept(found, "other") == []
    assert kept([], "c") == []


def test_without_a_watermark_none_is_told() -> None:
    metrics = Metrics(dict, lambda: {"c": "RUNNING"})
    metrics.observe(replace(report(), state=State("s3://b/m", 1, 20, 0, 0)))
    assert kept(list(metrics.collect()), "c") == [("State", "1 row, 20 B")]


def test_a_change_that_the_state_does_not_go_on_with_is_warned_of() -> None:
    before = {"frazil.sql": "SELECT 1", "frazil.watermark": "at 10 seconds", "tasks.max": "1"}
    assert changed(before, {**before, "tasks.max": "2"}) == []
    assert changed({}, before) == []
    (told,) = changed({**before, "frazil.sql.columns.t": "id INT"}, before)
    assert told.startswith("frazil.sql.columns.t changed")
    (told,) = changed(before, {"frazil.sql": "SELECT 2", "tasks.max": "1"})
    assert told.startswith("frazil.sql, frazil.watermark changed: if the statement has state")
