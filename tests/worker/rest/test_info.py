from __future__ import annotations

import logging
import re
import uuid

import httpx
import pytest

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


@pytest.fixture
def path() -> str:
    return f"/admin/loggers/rest-{uuid.uuid4().hex}"


def test_a_level_is_set_and_shown(client: httpx.Client, path: str) -> None:
    name = path.rpartition("/")[2]
    assert_error(client.get(path), 404, f"Logger {name} not found.")
    response = client.put(path, json={"level": "debug"})
    assert (response.status_code, response.json()) == (200, [name])
    shown = client.get(path).json()
    assert (shown["level"], type(shown["last_modified"])) == ("DEBUG", int)
    assert client.get("/admin/loggers").json()[name] == shown
    assert client.get("/admin/loggers/").json()["root"]["last_modified"] is None
    assert client.put(path, json={"level": "debug"}).json() == []


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": None}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": "LOUD"}, 404, "invalid log level 'LOUD'."),
        ({"level": 5}, 404, "invalid log level '5'."),
        ([], 400, 'The request body is not a JSON object; send {"level": "DEBUG"}.'),
    ],
)
def test_wrong_levels_are_refused(client: httpx.Client, path: str, body: object, status: int, message: str) -> None:
    assert_error(client.put(path, json=body), status, message)
    assert client.get(path).status_code == 404, "nothing was made"


@pytest.mark.parametrize(("scope", "status"), [("cluster", 204), ("CLUSTER", 204), ("worker", 200), ("other", 200)])
def test_the_scope_decides_what_is_answered(client: httpx.Client, path: str, scope: str, status: int) -> None:
    response = client.put(f"{path}?scope={scope}", json={"level": "ERROR"})
    assert (response.status_code, bool(response.content)) == (status, status == 200)
    assert logging.getLogger(path.rpartition("/")[2]).level == logging.ERROR
