from __future__ import annotations

import re

import httpx

from frazil.connectors.keys.versions import VERSION
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.rest.requests import assert_error
from tests.worker.watch.positions import KeptPositions


def test_root_has_a_plain_version_from_3_7_on(client: httpx.Client) -> None:
    body = client.get("/").json()
    assert body == {"version": "4.3.1", "commit": f"frazil-{VERSION}", "kafka_cluster_id": "cluster-1"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", body["version"])


def test_health(client: httpx.Client) -> None:
    response = client.get("/health")
    assert response.status_code == 200
    assert response.json() == {
        "status": "healthy",
        "message": "Worker has completed startup and is ready to handle requests.",
    }


def test_health_while_the_worker_starts(store: FileConfigStore, factory: ScriptedFactory) -> None:
    herder = Herder(store, factory, "w:1")
    server = serve(
        rest_app(herder, WorkerInfo("k", KeptPositions(), ActiveTopics(), Loggers())), "127.0.0.1", 0, "PORT"
    )
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        response = client.get("/health")
        assert response.status_code == 503
        assert response.json() == {"status": "starting", "message": "Worker is still starting up."}
        for path in ("/", "/connectors", "/connectors/c/status"):
            assert_error(client.get(path), 503, "Worker is still starting up.")
        herder.start()
        assert client.get("/connectors").json() == []
    server.stop()
    assert herder.close(5.0)
