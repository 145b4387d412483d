from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence

import pytest

from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.connectors.keys.maintenance import MaintenanceConfig
from frazil.connectors.sink import MaintainedTables
from frazil.engine.maintenance import MaintenanceReport, MaintenanceSchedule
from frazil.errors import NotFound, ServiceUnavailable
from tests.waits import PATIENCE_S, eventually

HOURLY = MaintenanceConfig(3_600_000, 7_200_000, 5)
DONE = StepResult(Step.EXPIRE, "snapshots", 9, 5, 100)
FAILED = StepResult(Step.COMPACT, "", failed=True, note="others were faster")


class Maintained:
    """Notes what it is asked for."""

    def __init__(self, *steps: StepResult, error: Exception | None = None) -> None:
        self.calls: list[tuple[str, Policy]] = []
        self.reports: list[MaintenanceReport] = []
        self.steps = steps
        self.error = error

    def maintain(self, properties: Mapping[str, str], table: str, policy: Policy) -> Sequence[StepResult]:
        assert properties == {"uri": "u"}
        self.calls.append((table, policy))
        if self.error is not None:
            raise self.error
        return self.steps

    def schedule(self, first_s: float = 0) -> MaintenanceSchedule:
        return MaintenanceSchedule(self.maintain, self.reports.append, first_s)


def tables(config: MaintenanceConfig = HOURLY, **branches: str) -> MaintainedTables:
    return MaintainedTables(lambda: branches, {"uri": "u"}, config)


def test_every_table_of_a_connector_gets_its_policy() -> None:
    maintained = Maintained(DONE, FAILED)
    schedule = maintained.schedule()
    schedule.add("c", tables(a="main", b="staging"))
    eventually(lambda: len(maintained.reports) == 2)
    schedule.close()
    assert maintained.calls == [
        ("a", Policy(branch="main", keep_ms=7_200_000, keep_snapshots=5)),
        ("b", Policy(branch="staging", keep_ms=7_200_000, keep_snapshots=5)),
    ]
    report = maintained.reports[0]
    assert (report.connector, report.table, report.failed, report.bytes_freed) == ("c", "a", True, 100)


def test_the_next_run_comes_after_the_interval() -> None:
    maintained = Maintained(DONE)
    schedule = maintained.schedule()
    schedule.add("often", tables(MaintenanceConfig(50, None, None), a="main"))
    schedule.add("seldom", tables(b="main"))
    eventually(lambda: [table for table, _ in maintained.calls].count("a") >= 3)
    schedule.close()
    assert [table for table, _ in maintained.calls].count("b") == 1


def test_a_run_can_be_had_now_and_its_outcome_is_kept() -> None:
    maintained = Maintained(DONE)
    schedule = maintained.schedule(first_s=3600)
    with pytest.raises(NotFound, match=r"frazil\.maintenance\.interval\.ms"):
        schedule.now("c")
    schedule.add("c", tables(a="main"))
    waiting = schedule.of("c")
    assert waiting is not None and 3500 < waiting.next_s <= 3600 and waiting.newest == {}
    schedule.now("c")
    eventually(lambda: (schedule.of("c") or waiting).newest)
    done = schedule.of("c")
    assert done is not None and done.newest["a"][1].done == "expire 9 to 5 snapshots"
    eventually(lambda: (schedule.of("c") or waiting).next_s > 3500)
    schedule.remove("c")
    assert schedule.of("c") is None
    schedule.close()
    assert len(maintained.calls) == 1


def test_what_is_asked_for_during_a_run_comes_after_it() -> None:
    going_on, go_on, calls = threading.Event(), threading.Event(), []

    def maintain(properties: Mapping[str, str], table: str, policy: Policy) -> Sequence[StepResult]:
        calls.append(table)
        going_on.set()
        assert go_on.wait(PATIENCE_S)
        return ()

    schedule = MaintenanceSchedule(maintain, lambda report: None, 0)
    schedule.add("c", tables(a="main"))
    assert going_on.wait(PATIENCE_S)
    schedule.now("c")
    go_on.set()
    eventually(lambda: calls == ["a", "a"])
    schedule.close()


def test_a_connector_that_starts_anew_keeps_its_time() -> None:
    maintained = Maintained(DONE)
    schedule = maintained.schedule()
    schedule.add("c", tables(a="main"))
    eventually(lambda: maintained.reports)
    schedule.remove("c")
    schedule.add("c", tables(a="main"))
    schedule.add("other", tables(b="main"))
    eventually(lambda: len(maintained.reports) == 2)
    schedule.close()
    assert [table for table, _ in maintained.calls] == ["a", "b"]


def test_a_removed_connector_is_left_alone() -> None:
    maintained = Maintained(DONE)
    schedule = maintained.schedule(first_s=0.2)
    schedule.add("gone", tables(MaintenanceConfig(100, None, None), a="main"))
    schedule.remove("gone")
    schedule.add("c", tables(MaintenanceConfig(300, None, None), b="main"))
    eventually(lambda: maintained.reports)
    schedule.close()
    assert {table for table, _ in maintained.calls} == {"b"}


def test_a_failure_is_reported_and_the_next_run_comes(caplog: pytest.LogCaptureFixture) -> None:
    maintained = Maintained(error=ServiceUnavailable("the catalog is away"))
    schedule = maintained.schedule()
    with caplog.at_level(logging.WARNING):
        schedule.add("c", tables(MaintenanceConfig(20, None, None), a="main"))
        eventually(lambda: len(maintained.reports) >= 2)
        schedule.close()
    assert maintained.reports[0].error == "the catalog is away"
    assert maintained.reports[0].failed
    assert "maintenance of a for connector c was not done" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(1), ValueError("oops")])
def test_tables_that_cannot_be_told_do_not_end_the_maintenance_of_others(error: BaseException) -> None:
    maintained = Maintained(DONE)
    schedule = maintained.schedule()

    def fail() -> dict[str, str]:
        raise error

    schedule.add("bad", MaintainedTables(fail, {"uri": "u"}, MaintenanceConfig(20, None, None)))
    schedule.add("good", tables(MaintenanceConfig(20, None, None), a="main"))
    eventually(lambda: len(maintained.reports) >= 2)
    schedule.close()


def test_closing_ends_the_thread_and_hides_what_it_breaks() -> None:
    began, end = threading.Event(), threading.Event()
    reports: list[MaintenanceReport] = []

    def maintain(properties: Mapping[str, str], table: str, policy: Policy) -> Sequence[StepResult]:
        began.set()
        assert end.wait(PATIENCE_S)
        raise RuntimeError("the session has ended")

    schedule = MaintenanceSchedule(maintain, reports.append, 0)
    schedule.add("c", tables(a="main", b="main"))
    assert began.wait(PATIENCE_S)
    schedule.close()
    end.set()
    eventually(lambda: not any(thread.name == "maintenance" for thread in threading.enumerate()))
    assert reports == []
