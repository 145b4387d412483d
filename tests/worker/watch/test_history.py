"""Newest batches and rates of connectors."""

from __future__ import annotations

from frazil.pipeline.report import BatchReport
from frazil.worker.watch.history import CONNECTORS, SLOT_S, SLOTS, History


def report(stored: int, connector: str = "orders") -> BatchReport:
    return BatchReport(connector, stored, stored, 0, 0, 1, 10, 0.1, 0.1, 0.1)


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def test_the_newest_batch_stands_first_and_fifty_are_kept() -> None:
    history = History(Clock())
    for stored in range(60):
        history.observe(report(stored))
    assert [one.report.stored for one in history.batches("orders")] == list(range(59, 9, -1))
    assert history.totals("orders").stored == sum(range(60))


def test_rates_are_those_of_the_last_ten_minutes() -> None:
    clock = Clock()
    history = History(clock)
    history.observe(report(200))
    clock.now += SLOT_S
    history.observe(report(50))
    assert list(history.rates("orders"))[-2:] == [20.0, 5.0]
    assert len(history.rates("orders")) == SLOTS
    clock.now += SLOTS * SLOT_S
    history.observe(report(0))
    assert not any(history.rates("orders"))


def test_of_too_many_connectors_those_that_committed_last_are_kept() -> None:
    history = History(Clock())
    for name in ["payments", "orders", "payments", *(f"short-{number}" for number in range(CONNECTORS - 1))]:
        history.observe(report(1, name))
    assert (history.batches("orders"), history.totals("orders").batches) == ([], 0)
    assert len(history.batches("payments")) == 2


def test_what_was_never_seen_is_empty() -> None:
    history = History(Clock())
    assert (history.batches("none"), history.totals("none").read, sum(history.rates("none"))) == ([], 0, 0)
