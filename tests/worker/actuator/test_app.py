"""The actuator over real HTTP."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from frazil.clients.kafka.groups import Behind
from frazil.connectors.keys.versions import VERSION
from frazil.pipeline.report import BatchReport
from frazil.worker.actuator.app import actuator_app
from frazil.worker.actuator.health import connector_states
from frazil.worker.actuator.meters import meter_name
from frazil.worker.actuator.surroundings import sources_of
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.server import serve
from frazil.worker.watch.loggers import Loggers
from frazil.worker.watch.metrics import Metrics
from tests.connectors.samples import MINIMAL_SINK
from tests.waits import eventually
from tests.worker.lifecycle.runners import ScriptedFactory

ENV = {"KAFKA_BOOTSTRAP_SERVERS": "k:9092", "KAFKA_SASL_PASSWORD": "swordfish", "OTHER": "4711", "PATH": "/bin"}
PROPERTIES = {
    "group.id": "g",
    "sasl.jaas.config": 'x required username="u" password="trout-1";',
    "response.http.headers.config": "add X: trout-1 and swordfish",
    "ssl.keystore.password": "${file:/etc/s:p}",
}


@pytest.fixture
def metrics(herder: Herder) -> Metrics:
    return Metrics(lambda: {("c", "t", 0): Behind(2, 7)}, lambda: connector_states(herder))


@pytest.fixture
def client(herder: Herder, metrics: Metrics) -> Iterator[httpx.Client]:
    app = actuator_app(herder, metrics, {}, Loggers(), sources_of(ENV, PROPERTIES))
    server = serve(app, "127.0.0.1", 0, "ACTUATOR_PORT")
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
        "groups": ["liveness", "readiness"],
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


def test_sums_and_states_of_connectors(client: httpx.Client, metrics: Metrics, herder: Herder) -> None:
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


def test_the_index_links_paths_that_answer(client: httpx.Client, metrics: Metrics) -> None:
    links = client.get("").json()["_links"]
    assert {"self", "health", "health-liveness", "info", "env", "loggers", "prometheus", "threaddump"} <= links.keys()
    assert links["metrics-name"] == {"href": f"{client.base_url}metrics/{{name}}", "templated": True}
    for link in links.values():
        if not link["templated"]:
            assert client.get(link["href"]).status_code == 200, link
    assert client.get("/nope").json() == {"error_code": 404, "message": "HTTP 404 Not Found"}


def test_a_metric_has_measurements_and_tags_under_the_name_of_spring(
    client: httpx.Client, metrics: Metrics, herder: Herder
) -> None:
    assert client.get("/metrics/kafka.connector.s3.write.duration").json()["measurements"] == []
    for name in ("c", "d"):
        herder.create(name, {**MINIMAL_SINK, "name": name}, "STOPPED")
    for connector, write_s in (("c", 0.5), ("c", 1.5), ("d", 4.0)):
        metrics.observe(BatchReport(connector, 10, 9, 1, 0, 3, 100, duration_s=1.0, write_s=write_s, commit_s=0.1))
    found = client.get("/metrics/kafka.connector.s3.write.duration").json()
    assert found == {
        "name": "kafka.connector.s3.write.duration",
        "description": "Storing the files of a batch, in its slowest task",
        "baseUnit": "seconds",
        "measurements": [{"statistic": "COUNT", "value": 3.0}, {"statistic": "TOTAL_TIME", "value": 6.0}],
        "availableTags": [{"tag": "connector", "values": ["c", "d"]}],
    }
    of_one = client.get("/metrics/kafka.connector.s3.write.duration?tag=connector:c").json()
    assert [one["value"] for one in of_one["measurements"]] == [2.0, 2.0] and of_one["availableTags"] == []
    assert client.get("/metrics/kafka.connector.records.processed").json()["measurements"] == [
        {"statistic": "COUNT", "value": 30.0}
    ]
    lag = client.get("/metrics/frazil_consumer_lag_records").json()
    assert lag["measurements"] == [{"statistic": "VALUE", "value": 5.0}]
    assert [one["tag"] for one in lag["availableTags"]] == ["connector", "partition", "topic"]


def test_a_metric_that_there_is_not_is_told(client: httpx.Client) -> None:
    for path in ("none", "frazil.consumer.lag.records?tag=connector:none"):
        assert client.get(f"/metrics/{path}").status_code == 404
    assert client.get("/metrics/frazil.consumer.lag.records?tag=connector").status_code == 400


def test_every_metric_is_listed_under_a_name_of_its_own_that_answers(client: httpx.Client, metrics: Metrics) -> None:
    metrics.observe(BatchReport("c", 10, 9, 1, 0, 3, 100, duration_s=1.0, write_s=0.5, commit_s=0.1))
    names = client.get("/metrics").json()["names"]
    assert len(names) == len({metric.name for metric in metrics.collect()})
    for metric in metrics.collect():
        if metric.samples:
            assert client.get(f"/metrics/{meter_name(metric)}").json()["measurements"], metric.name


def test_liveness_and_readiness(tmp_path: Path) -> None:
    herder = Herder(FileConfigStore(tmp_path / "connectors.json"), ScriptedFactory(), "w")
    app = actuator_app(herder, Metrics(dict, dict), {}, Loggers(), {})
    server = serve(app, "127.0.0.1", 0, "ACTUATOR_PORT")
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}/actuator/health", trust_env=False) as client:
        assert client.get("/liveness").json() == {"status": "UP"}
        early = client.get("/readiness")
        assert (early.status_code, early.json()) == (503, {"status": "OUT_OF_SERVICE"})
        herder.start()
        assert (client.get("/readiness").status_code, client.get("/readiness").json()) == (200, {"status": "UP"})
    server.stop()
    assert herder.close(10.0)


def test_the_environment_has_what_concerns_the_worker_and_no_secret(client: httpx.Client) -> None:
    answer = client.get("/env")
    sources = {one["name"]: one["properties"] for one in answer.json()["propertySources"]}
    assert sources["systemEnvironment"]["KAFKA_BOOTSTRAP_SERVERS"] == {"value": "k:9092"}
    assert sources["workerProperties"]["group.id"] == {"value": "g"}
    assert sources["workerProperties"]["ssl.keystore.password"] == {"value": "${file:/etc/s:p}"}
    assert not sources["systemEnvironment"].keys() & {"OTHER", "PATH"}
    assert "swordfish" not in answer.text and "trout-1" not in answer.text


def test_levels_of_loggers(client: httpx.Client) -> None:
    logging.getLogger("frazil.some.logger").setLevel(logging.WARNING)
    found = client.get("/loggers").json()
    assert found["loggers"]["frazil.some.logger"] == {"effectiveLevel": "WARN"}
    assert "ROOT" in found["loggers"] and "DEBUG" in found["levels"]
    assert client.get("/loggers/frazil.some.logger").json() == {"effectiveLevel": "WARN"}
    assert client.get("/loggers/none.such").status_code == 404
    assert client.post("/loggers/frazil.some.logger", json={"configuredLevel": "DEBUG"}).status_code == 405


def test_threads_tell_what_they_do(client: httpx.Client) -> None:
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait, name="waits here", daemon=True)
    thread.start()
    found = {one["threadName"]: one for one in client.get("/threaddump").json()["threads"]}
    waiting.set()
    assert found["waits here"]["threadId"] == thread.native_id
    assert found["waits here"]["stackTrace"][0]["methodName"] == "wait"
    assert "MainThread" in found


def test_versions_and_process(client: httpx.Client) -> None:
    found = client.get("/info").json()
    assert found["build"] == {"name": "frazil", "version": VERSION}
    assert found["process"]["pid"] == os.getpid()
