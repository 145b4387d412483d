"""This worker beside the real Kafka Connect 4.3.1: the same requests, the same codes, shapes and messages."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from bench.peer import peer_service

from frazil.clients.kafka import topics as kafka_topics
from frazil.declare.providers import ConfigProviders
from frazil.stack.jars import CONNECT_FILE
from frazil.stack.local import LocalStack
from frazil.worker.watch.positions import ConnectorPositions
from tests.isolation import isolated_settings
from tests.rest_worker import rest_worker
from tests.worker.rest.comparison import Side, difference, run
from tests.worker.rest.steps import STEPS

pytestmark = pytest.mark.stack


def test_answers_are_those_of_kafka_connect(stack: LocalStack, tmp_path: Path) -> None:
    bootstrap = stack.settings.bootstrap_servers
    topic = f"compared-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {topic: (2, {})})
    settings = isolated_settings(tmp_path / "peer", KAFKA_BOOTSTRAP_SERVERS=bootstrap)
    service = peer_service(settings, CONNECT_FILE)
    service.start(lambda text: None)
    try:
        file_sink = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "file": str(tmp_path / "out.txt"),
            "topics": topic,
        }
        real = run(Side(f"http://127.0.0.1:{settings.connect_port}", file_sink, topic), STEPS)
    finally:
        service.stop()
    iceberg_sink = {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": topic,
        "iceberg.tables": "compared.none",
        **{f"iceberg.catalog.{key}": value for key, value in stack.settings.catalog_properties().items()},
    }
    positions = ConnectorPositions(stack.settings, ConfigProviders())
    with rest_worker(tmp_path, positions) as (url, _):
        ours = run(Side(url, iceberg_sink, topic), STEPS)
    found = [
        f"{step.name}: {problem}"
        for step, one, other in zip(STEPS, real, ours, strict=True)
        if (problem := difference(step, one, other))
    ]
    assert found == [], "\n".join(["differences:", *found])
    assert len(STEPS) > 80
