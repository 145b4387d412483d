from __future__ import annotations

import pytest

from frazil.errors import ServiceUnavailable
from frazil.pipeline.report import Totals
from frazil.worker.actuator.health import connector_health, connectors_health, rate_health, worker_health, worst
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from tests.connectors.samples import MINIMAL_SINK
from tests.waits import eventually


@pytest.mark.parametrize(
    ("rate", "health"), [(0.0, "UP"), (0.05, "UP"), (0.051, "DEGRADED"), (0.10, "DEGRADED"), (0.101, "DOWN")]
)
def test_failure_rates(rate: float, health: str) -> None:
    assert rate_health(rate) == health


@pytest.mark.parametrize(
    ("states", "health"),
    [
        ({}, "UP"),
        ({"a": "RUNNING", "b": "PAUSED", "c": "STOPPED"}, "UP"),
        ({"a": "RUNNING", "b": "RESTARTING"}, "DEGRADED"),
        ({"a": "RUNNING", "b": "FAILED"}, "DEGRADED"),
        ({"a": "FAILED"}, "DOWN"),
    ],
)
def test_connector_states(states: dict[str, str], health: str) -> None:
    assert connectors_health(states) == health


def test_the_worst_counts() -> None:
    assert worst() == "UP"
    assert worst("UP", "DOWN", "DEGRADED") == "DOWN"


def test_parts_that_do_not_answer_make_the_worker_down(herder: Herder) -> None:
    herder.create("c", MINIMAL_SINK)
    eventually(lambda: herder.status("c").state == "RUNNING")

    def down() -> None:
        raise ServiceUnavailable("catalog at http://127.0.0.1:8181 does not answer")

    assert worker_health(herder, {"kafka": lambda: None, "catalog": down}) == {
        "status": "DOWN",
        "components": {
            "connectors": {"status": "UP", "details": {"c": "RUNNING"}},
            "kafka": {"status": "UP"},
            "catalog": {
                "status": "DOWN",
                "details": {"error": "catalog at http://127.0.0.1:8181 does not answer"},
            },
        },
        "groups": ["liveness", "readiness"],
    }


def test_a_configuration_that_cannot_be_carried_out_is_shown(
    herder: Herder, store: FileConfigStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    herder.create("c", MINIMAL_SINK)
    eventually(lambda: herder.status("c").state == "RUNNING")
    assert herder.status("c").trace is None
    monkeypatch.setattr(store, "problems", lambda: {"c": "not applied", "new": "not JSON"})
    body = worker_health(herder, {})
    assert body["status"] == "DEGRADED"
    assert isinstance(body["components"], dict)
    details = {"c": "not applied", "new": "not JSON"}
    assert body["components"]["configurations"] == {"status": "DEGRADED", "details": details}
    assert (herder.status("c").state, herder.status("c").trace) == ("RUNNING", "not applied")


def test_connector_health_has_three_components(herder: Herder) -> None:
    body = connector_health(herder, Totals(batches=2, read=100, stored=93, dead_letters=7, files=4, duration_s=3.0))
    assert body == {
        "status": "DEGRADED",
        "components": {
            "processing": {
                "status": "DEGRADED",
                "records-processed": 100,
                "records-failed": 7,
                "failure-rate": 0.07,
            },
            "storage": {"status": "UP", "s3-writes": 4, "commits": 2},
            "performance": {"status": "UP", "avg-batch-time-ms": 1500.0},
        },
    }
