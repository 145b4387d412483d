"""Metrics of Debezium on the real runtime, from a real PostgreSQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from scripts.reference import ROOT
from starlette.applications import Starlette

from frazil.connectors.progress import captured
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, StackError
from frazil.stack.local import LocalStack
from frazil.stack.plugins import install_plugin
from frazil.stack.ports import unused
from frazil.stack.postgres import postgres_service
from frazil.worker.actuator.app import scrape_route
from frazil.worker.server import serve
from frazil.worker.sources import metrics as module
from frazil.worker.sources.metrics import SourceMetrics
from frazil.worker.sources.runtime import SourceRuntime
from frazil.worker.sources.slots import Slots
from frazil.worker.watch.metrics import Metrics
from tests.deploy.prometheus import OF_SOURCES, prometheus
from tests.isolation import isolated_settings
from tests.waits import eventually

RULES = ROOT / "deploy" / "prometheus" / "rules.yml"


@pytest.fixture
def settings(stack: LocalStack, tmp_path: Path) -> Iterator[Settings]:
    """A home with a database of goods and Debezium, on the broker of the stack."""
    own = {"KAFKA_BOOTSTRAP_SERVERS": stack.settings.bootstrap_servers, "SOURCE_CONNECT_PORT": str(unused(1)[0])}
    made = isolated_settings(tmp_path, **own)
    install_plugin(made, "debezium-postgres", lambda text: None)
    service = postgres_service(made)
    service.start(lambda text: None)
    with psycopg.connect(**made.postgres_access()) as connection:
        connection.execute("CREATE TABLE goods (id int PRIMARY KEY)")
        connection.execute("INSERT INTO goods SELECT generate_series(1, 300)")
    yield made
    service.stop()
    LocalStack(made).clean()


def config_of(settings: Settings) -> dict[str, str]:
    access = settings.postgres_access()
    keys = {"hostname": "host", "port": "port", "user": "user", "password": "password", "dbname": "dbname"}
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        **{f"database.{key}": str(access[name]) for key, name in keys.items()},
        "topic.prefix": "metrics",
        "plugin.name": "pgoutput",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "-1",
    }


@pytest.mark.stack
@pytest.mark.faults
def test_snapshot_and_lag_are_told_under_the_names_of_dashboards(settings: Settings, tmp_path: Path) -> None:
    slots = Slots(lambda: {"goods": config_of(settings)}, lambda config: config)
    runtime = SourceRuntime(settings, {"group.id": f"group-{settings.source_connect_port}"})
    assert runtime.metrics() == ()
    try:
        eventually(lambda: up(runtime), 270)
        body = json.dumps(config_of(settings)).encode()
        headers = {"Content-Type": "application/json"}
        eventually(lambda: runtime.call("PUT", "/connectors/goods/config", body, headers).is_success, 120)

        eventually(lambda: dict(captured(runtime.metrics(), "metrics")).get("Log of the database") == "read", 120)
        assert ("Snapshot", "completed: 1 of 1 tables, 300 rows") in captured(runtime.metrics(), "metrics")
        with psycopg.connect(**settings.postgres_access()) as connection:
            connection.execute("UPDATE goods SET id = -id WHERE id < 11")
        eventually(lambda: "Behind the database" in dict(captured(runtime.metrics(), "metrics")), 60)
        metrics = Metrics(dict, dict, slots=lambda: slots.seen, sources=runtime.metrics)
        told = {sample.name: sample for one in metrics.collect() for sample in one.samples}
        assert told["frazil_source_metrics_known"].value == 1
        assert told["debezium_metrics_MilliSecondsBehindSource"].labels["plugin"] == "postgres"
        assert told["kafka_connect_source_task_metrics_source_record_poll_total"].labels == {
            "connector": "goods",
            "task": "0",
        }
        server = serve(Starlette(routes=[scrape_route(metrics)]), "127.0.0.1", 0, "port")
        with prometheus(tmp_path, f"127.0.0.1:{server.port}", "/metrics", RULES) as scraped:
            slots.look()
            eventually(lambda: scraped.unanswered(OF_SOURCES) == set())
        server.stop()
    finally:
        runtime.close()


def test_an_agent_that_does_not_answer_is_told_and_one_that_cannot_be_had_is_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = SourceMetrics(isolated_settings(tmp_path))
    monkeypatch.setattr(module, "resolve", lambda *arguments: [Path("agent.jar")])
    (option,) = metrics.options(Path("java"), tmp_path, lambda text: None)
    address = re.fullmatch(rf"-javaagent:agent\.jar=127\.0\.0\.1:\d+:{tmp_path}/metrics\.yml", option)
    assert address is not None and "debezium" in (tmp_path / "metrics.yml").read_text()
    with pytest.raises(ServiceUnavailable, match="does not tell its metrics"):
        metrics.read()
    text = Metrics(dict, dict, sources=metrics.read).exposition()[0].decode()
    assert "frazil_source_metrics_known 0.0" in text

    def away(*arguments: object) -> list[Path]:
        raise StackError("no network")

    monkeypatch.setattr(module, "resolve", away)
    assert metrics.options(Path("java"), tmp_path, lambda text: None) == () and metrics.read() == ()
    assert "source connectors run without metrics: no network" in caplog.text


def up(runtime: SourceRuntime) -> bool:
    try:
        runtime.ensure()
    except ServiceUnavailable:
        return False
    return True
