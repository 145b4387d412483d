"""The actuator over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import httpx
import pytest

from frazil.clients.kafka.groups import Behind
from frazil.connectors.keys.versions import VERSION
from frazil.pipeline.report import BatchReport
from frazil.worker.actuator.app import actuator_app
from frazil.worker.actuator.health import connector_states
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.server import serve
from frazil.worker.watch.metrics import Metrics
from tests.connectors.samples import MINIMAL_SINK
from tests.waits import eventually
from tests.worker.lifecycle.runners import ScriptedFactory


@pytest.fixture
def metrics(herder: Herder) -> Metrics:
    return Metrics(lambda: {("c", "t", 0): Behind(2, 7)}, lambda: connector_states(herder))


@pytest.fixture
def client(herder: Herder, metrics: Metrics) -> Iterator[httpx.Client]:
    server = serve(actuator_app(herder, metrics, {}), "127.0.0.1", 0, "ACTUATOR_PORT")
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}/actuator", trust_env=False) as client:
        yield client
    server.stop()


def test_health_follows_the_connectors(client: httpx.Client, herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("c", MINIMAL_SINK)
    eventually(lambda: herder.status("c").state == "RUNNING")
    response = client.get("/health")
    assert response.status_code == 200
    assert response.json() == {
        "status": "UP",
        "components": {"connectors": {"status": "UP", "details": {"c": "RUNNING"}}},
    }
    factory.last("c").fail("BadRecord: x")
    eventually(lambda: herder.status("c").overall == "FAILED")
    response = client.get("/health")
    assert (response.status_code, response.json()["status"]) == (503, "DOWN")


def test_prometheus(client: httpx.Client, herder: Herder, metrics: Metrics) -> None:
    herder.create("c", MINIMAL_SINK, "STOPPED")
    eventually(lambda: herder.status("c").state == "STOPPED")
    metrics.observe(BatchReport("c", 10, 9, 1, 0, 1, 100, duration_s=1.0, write_s=0.5, commit_s=0.1))
    response = client.get("/prometheus")
    assert response.headers["content-type"].startswith("text/plain")
    assert 'kafka_connector_records_processed_total{connector="c"} 10.0' in response.text
    assert 'frazil_connector_state{connector="c",state="STOPPED"} 1.0' in response.text
    assert 'frazil_consumer_lag_records{connector="c",partition="0",topic="t"} 5.0' in response.text


def test_metrics_and_info(client: httpx.Client, metrics: Metrics, herder: Herder) -> None:
    assert "kafka_connector_records_processed" in client.get("/metrics").json()["names"]
    assert client.get("/connector/info").json() == {
        "name": "frazil",
        "version": VERSION,
        "worker-id": "127.0.0.1:8083",
        "connectors": [],
    }
    for _ in range(2):
        metrics.observe(BatchReport("c", 10, 9, 1, 0, 3, 100, duration_s=1.0, write_s=0.5, commit_s=0.1))
    body = client.get("/connector/metrics").json()
    assert datetime.fromisoformat(body.pop("timestamp")).tzinfo is not None
    assert 0 <= body.pop("uptime-seconds") < 60
    assert body == {
        "processing": {"records-processed": 20, "records-failed": 2, "failure-rate": 0.1},
        "storage": {"s3-writes": 6, "bytes-written": 200, "commits": 2},
        "performance": {"avg-processing-time-ms": 100.0, "avg-s3-write-time-ms": 500.0},
        "system": {"dlq-messages": 2},
    }
    health = client.get("/connector/health")
    assert (health.status_code, health.json()["status"]) == (200, "DEGRADED")


def test_the_index_lists_paths_that_answer(client: httpx.Client) -> None:
    links = client.get("").json()["_links"]
    assert len(links) == 7
    for path in links:
        assert client.get(f"{client.base_url.copy_with(path=path)}").status_code == 200
    assert client.get("/nope").json() == {"error_code": 404, "message": "HTTP 404 Not Found"}
