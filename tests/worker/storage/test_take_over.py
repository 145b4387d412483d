"""Storage topics that the real Kafka Connect 4.3.1 has written are read, and it reads what was written here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from bench.peer import peer_service

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.environment.settings import Settings
from frazil.stack.jars import CONNECT_FILE
from frazil.stack.local import LocalStack
from frazil.worker.lifecycle.store import StoredConnector
from frazil.worker.storage.configs import ConfigTopic
from frazil.worker.storage.statuses import StatusTopic
from tests.isolation import isolated_settings
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.stack

GROUP = "taken-over"


@contextmanager
def connect_worker(settings: Settings) -> Iterator[httpx.Client]:
    service = peer_service(settings, CONNECT_FILE, GROUP)
    service.start(lambda text: None)
    try:
        with httpx.Client(base_url=settings.connect_url, timeout=PATIENCE_S, trust_env=False) as client:
            yield client
    finally:
        service.stop()


def state(client: httpx.Client, name: str) -> str:
    answer = client.get(f"/connectors/{name}/status")
    return str(answer.json()["connector"]["state"]) if answer.status_code == 200 else str(answer.status_code)


@pytest.mark.faults
def test_configurations_and_states_go_over_and_back(stack: LocalStack, tmp_path: Path) -> None:
    bootstrap = stack.settings.bootstrap_servers
    settings = isolated_settings(tmp_path / "peer", KAFKA_BOOTSTRAP_SERVERS=bootstrap)
    sink = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "file": str(tmp_path / "out.txt"),
        "topics": "taken",
        "tasks.max": "1",
    }
    kafka_topics.ensure_topics(bootstrap, {"taken": (1, {})})
    with connect_worker(settings) as client:
        for name, target in (("runs", "RUNNING"), ("stops", "STOPPED"), ("pauses", "PAUSED"), ("goes", "RUNNING")):
            body = {"name": name, "config": sink, "initial_state": target}
            assert client.post("/connectors", json=body).status_code == 201
            eventually(lambda name=name, target=target: state(client, name) == target)  # type: ignore[misc]
        assert client.delete("/connectors/goes").status_code == 204
        eventually(lambda: len(client.get("/connectors/runs/tasks").json()) == 1)

    known: dict[str, StoredConnector | None] = {}
    end = lambda: kafka_offsets.end_offsets(bootstrap, [f"{GROUP}-configs"])[f"{GROUP}-configs", 0]  # noqa: E731
    client_config = kafka_client.client_config(bootstrap)
    store = ConfigTopic(client_config, client_config, f"{GROUP}-configs", GROUP, end)
    statuses = StatusTopic(client_config, client_config, f"{GROUP}-status", GROUP, "0.1")
    try:
        store.open(lambda name, connector, configured: known.update({name: connector}))
        statuses.start()
        expected = {
            name: StoredConnector({**sink, "name": name}, target)  # type: ignore[arg-type]
            for name, target in (("runs", "RUNNING"), ("stops", "STOPPED"), ("pauses", "PAUSED"))
        }
        assert {name: connector for name, connector in known.items() if connector is not None} == expected
        told = statuses.of("stops")
        assert told is not None
        # A worker of Kafka Connect that ends leaves its connectors so.
        assert (told.state, told.worker_id) == ("UNASSIGNED", f"127.0.0.1:{settings.connect_port}")
        store.lead(True)
        store.retarget("runs", "STOPPED")
        store.retarget("stops", "RUNNING")
        store.put("new", StoredConnector({**sink, "name": "new"}, "PAUSED"))
        store.delete("pauses")
    finally:
        store.close()
        statuses.close()

    with connect_worker(settings) as client:
        # It may say that there is none before it has read what it knows.
        eventually(lambda: sorted(client.get("/connectors").json()) == ["new", "runs", "stops"])
        for name, target in (("runs", "STOPPED"), ("stops", "RUNNING"), ("new", "PAUSED")):
            eventually(lambda name=name, target=target: state(client, name) == target)  # type: ignore[misc]
        assert client.get("/connectors/new/config").json() == {**sink, "name": "new"}
