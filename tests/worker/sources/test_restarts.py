from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from frazil.worker.sources.restarts import SourceRestarts


class Runtime:
    """Tells states of connectors as Kafka Connect does, and keeps what it is asked to start again."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        self.asked: list[str] = []
        self.up = True

    def tell(self, name: str, task: str, trace: str = "", state: str = "RUNNING", **config: str) -> None:
        status = {"connector": {"state": state}, "tasks": [{"id": 0, "state": task, "trace": trace}]}
        self.told[name] = {"info": {"config": config}, "status": status}

    def call(self, method: str, path: str) -> httpx.Response:
        if method == "POST":
            self.asked.append(path)
            return httpx.Response(204)
        assert path == "/connectors?expand=info&expand=status"
        return httpx.Response(200, text=json.dumps(self.told)) if self.up else httpx.Response(404, json={})


@pytest.fixture
def runtime() -> Runtime:
    return Runtime()


TASK = "/connectors/shop/tasks/0/restart"


def looked(runtime: Runtime, restarts: SourceRestarts, *times: float) -> list[str]:
    """What is asked for by looks at these seconds."""
    runtime.asked.clear()
    for time in times:
        restarts.look(time)
    return list(runtime.asked)


def test_a_failed_task_is_started_again_after_longer_and_longer_waits(runtime: Runtime) -> None:
    restarts = SourceRestarts(runtime.call)
    runtime.tell("shop", "RUNNING")
    assert looked(runtime, restarts, 0) == []
    runtime.tell("shop", "FAILED", "TimeoutException")
    assert looked(runtime, restarts, 10) == []
    assert looked(runtime, restarts, 14) == []
    assert looked(runtime, restarts, 15) == [TASK]
    assert looked(runtime, restarts, 20, 29) == []
    assert looked(runtime, restarts, 30) == [TASK]


def test_it_is_left_alone_when_it_never_runs(runtime: Runtime) -> None:
    restarts = SourceRestarts(runtime.call)
    runtime.tell("shop", "FAILED", "NullPointerException")
    assert looked(runtime, restarts, *range(0, 100_000, 10)) == [TASK] * 10


def test_one_that_ran_for_long_begins_with_the_first_wait(runtime: Runtime) -> None:
    restarts = SourceRestarts(runtime.call)
    runtime.tell("shop", "FAILED")
    assert looked(runtime, restarts, *range(0, 100_000, 10))
    runtime.tell("shop", "RUNNING")
    assert looked(runtime, restarts, 100_000, 100_010, 100_200) == []
    runtime.tell("shop", "FAILED")
    assert looked(runtime, restarts, 100_210, 100_215) == [TASK]


def test_failures_in_a_row_are_counted_through_moments_in_which_it_runs(runtime: Runtime) -> None:
    restarts = SourceRestarts(runtime.call)
    begun = 0
    for wait in (5, 10, 20):
        runtime.tell("shop", "FAILED")
        assert looked(runtime, restarts, begun, begun + wait - 1) == []
        assert looked(runtime, restarts, begun + wait) == [TASK]
        runtime.tell("shop", "RUNNING")
        assert looked(runtime, restarts, begun + wait + 1) == []
        begun += wait + 2


@pytest.mark.parametrize(
    ("trace", "again"),
    [
        ("io.debezium.DebeziumException: … but this is no longer available on the server.", False),
        ("PSQLException: ERROR: permission denied for table users", False),
        ("PSQLException: ERROR: replication slot shop is active for PID 7", True),
    ],
)
def test_a_failure_that_waits_for_the_user_is_left_to_him(runtime: Runtime, trace: str, again: bool) -> None:
    restarts = SourceRestarts(runtime.call)
    runtime.tell("shop", "FAILED", trace)
    assert bool(looked(runtime, restarts, *range(0, 1000, 10))) is again


def test_the_keys_of_the_connector_count(runtime: Runtime) -> None:
    restarts = SourceRestarts(runtime.call)
    runtime.tell("shop", "FAILED", **{"frazil.restart.attempts": "0"})
    runtime.tell("other", "FAILED", **{"frazil.restart.attempts": "1", "frazil.restart.backoff.ms": "60000"})
    assert looked(runtime, restarts, *range(0, 60, 10)) == []
    assert looked(runtime, restarts, *range(60, 1000, 10)) == ["/connectors/other/tasks/0/restart"]


def test_a_connector_that_has_failed_is_started_again_too(runtime: Runtime) -> None:
    restarts = SourceRestarts(runtime.call)
    runtime.tell("a b/c", "RUNNING", state="FAILED")
    assert looked(runtime, restarts, 0, 10) == ["/connectors/a%20b%2Fc/restart"]


def test_a_runtime_that_starts_and_a_connector_without_status_are_passed_over(runtime: Runtime) -> None:
    restarts = SourceRestarts(runtime.call)
    runtime.told["new"] = {"info": {"config": {}}}
    runtime.tell("shop", "FAILED")
    runtime.up = False
    assert looked(runtime, restarts, 0, 10) == []
    runtime.up = True
    assert looked(runtime, restarts, 20, 30) == [TASK]
