"""The dashboards: fresh, and with data in every panel."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from starlette.applications import Starlette

from frazil.clients.calls import timed
from frazil.clients.kafka.groups import Behind
from frazil.engine.maintenance import MaintenanceReport
from frazil.worker.actuator.app import scrape_route
from frazil.worker.server import serve
from frazil.worker.watch.metrics import Metrics
from scripts import dashboards, reference
from tests.deploy.prometheus import OF_SOURCES, QUERIES, Prometheus, chosen, prometheus
from tests.waits import eventually
from tests.worker.watch.test_metrics import report

GRAFANA = reference.ROOT / "deploy" / "grafana"
RULES = reference.ROOT / "deploy" / "prometheus" / "rules.yml"


@pytest.fixture
def scraped(tmp_path: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes the metrics of a worker that stores batch after batch."""
    metrics = Metrics(
        lambda: {("c", "t", 0): Behind(3, 5)},
        lambda: {"c": "RUNNING"},
        lambda: {"c": "closed"},
        lambda: {"c": 1},
        events=lambda present: {("c", "table evolved"): 1},
    )
    server = serve(Starlette(routes=[scrape_route(metrics)]), "127.0.0.1", 0, "port")
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.2):
            metrics.observe(replace(report(), newest={"n.t": 5}, object_s=(0.1,), invalid=1, validation_s=0.1))
            metrics.observe_maintenance(MaintenanceReport("c", "n.t", 1.0))
            with timed("catalog"):
                pass

    thread = threading.Thread(target=work)
    thread.start()
    try:
        with prometheus(tmp_path, f"127.0.0.1:{server.port}", "/metrics", RULES) as running:
            yield running
    finally:
        stop.set()
        thread.join()
        server.stop()


def test_dashboards_are_fresh() -> None:
    made = dashboards.files()
    assert {path: path.read_text() for path in made} == made, "stale: run `make docs`"
    assert {*dashboards.FOLDER.glob("*.json")} == set(made)


def test_every_panel_has_data_with_the_labels_of_its_legend(scraped: Prometheus) -> None:
    eventually(lambda: scraped.unanswered(QUERIES.keys() - OF_SOURCES) == set())


def test_variables_are_labels_of_their_metric(scraped: Prometheus) -> None:
    queries = [
        variable["query"]["query"]
        for path in dashboards.files()
        for variable in json.loads(path.read_text())["templating"]["list"]
        if variable["type"] == "query"
    ]
    of_worker = [(metric, label) for metric, label in map(chosen, queries) if metric.startswith("frazil_")]
    assert of_worker
    eventually(lambda: all(label in scraped.labels(metric) for metric, label in of_worker))


def test_dashboards_are_provisioned_where_compose_puts_them() -> None:
    compose = yaml.safe_load((reference.ROOT / "deploy" / "compose.yaml").read_text())["services"]
    mounted = dict(volume.split(":")[:2] for volume in compose["grafana"]["volumes"])
    provider = yaml.safe_load((GRAFANA / "provisioning" / "dashboards" / "frazil.yaml").read_text())["providers"][0]
    source = yaml.safe_load((GRAFANA / "provisioning" / "datasources" / "prometheus.yaml").read_text())
    assert mounted["./grafana/dashboards"] == provider["options"]["path"]
    assert mounted["./grafana/provisioning"] == "/etc/grafana/provisioning"
    assert source["datasources"][0]["url"].split("//")[1].split(":")[0] in compose
