"""Who answers a request, over real HTTP; a cluster of Kafka Connect that keeps a diary stands for the runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.app import ROUTES, rest_app
from frazil.worker.rest.dispatch import PLACES
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.rest.openapi import operations
from frazil.worker.server import serve
from frazil.worker.sources.runtime import SourceRuntime
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.isolation import isolated_settings
from tests.worker.rest.requests import assert_error, sink
from tests.worker.watch.positions import KeptPositions

SOURCE = "x.LinesSourceConnector"
JSON = {"content-type": "application/json"}


class Connect:
    """Has the source connector `lines`; any request but those for lists is noted and echoed."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, str, bytes]] = []
        self.app = Starlette(
            routes=[
                Route("/connector-plugins", self.plugins),
                Route("/connectors", self.connectors),
                Route("/connectors", self.note, methods=["POST"]),
                Route("/{rest:path}", self.note, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
            ]
        )

    def plugins(self, request: Request) -> Response:
        return JSONResponse([{"class": SOURCE, "type": "source", "version": "1"}])

    def connectors(self, request: Request) -> Response:
        info = {"name": "lines", "config": {}, "tasks": [], "type": "source"}
        told: dict[str, Any] = {"info": info, "status": {"name": "lines"}}
        return JSONResponse({"lines": {key: told[key] for key in request.query_params.getlist("expand")}})

    async def note(self, request: Request) -> Response:
        target = request.scope["raw_path"].decode() + (f"?{request.url.query}" if request.url.query else "")
        self.noted.append((request.method, target, await request.body()))
        return JSONResponse({"noted": len(self.noted)}, 202, {"location": "http://elsewhere:1/connectors/new"})


@pytest.fixture
def connect() -> Connect:
    return Connect()


@pytest.fixture
def client(herder: Herder, connect: Connect, tmp_path: Path) -> Iterator[httpx.Client]:
    cluster = serve(connect.app, "127.0.0.1", 0, "PORT")
    settings = isolated_settings(tmp_path, SOURCE_CONNECT_URL=f"http://127.0.0.1:{cluster.port}")
    runtime = SourceRuntime(settings, {})
    info = WorkerInfo("k", KeptPositions(), ActiveTopics(), Loggers())
    server = serve(rest_app(herder, info, sources=runtime), "127.0.0.1", 0, "PORT")
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        yield client
    server.stop()
    runtime.close()
    cluster.stop()


def test_every_place_is_that_of_a_method_of_a_route() -> None:
    served = {(method.upper(), route.path) for route in ROUTES for method, _ in operations(route)}
    assert set(PLACES) <= served


def test_a_configuration_goes_to_the_side_of_its_class_as_it_was_sent(
    client: httpx.Client, connect: Connect, herder: Herder
) -> None:
    new = b'{"name": " new ",  "config": {"connector.class": "LinesSource", "n": 1.50}}'
    created = client.post("/connectors", content=new, headers=JSON)
    assert (created.status_code, created.json()) == (202, {"noted": 1})
    assert created.headers["location"] == f"{client.base_url}/connectors/new"
    changed = b'{"connector.class":  "x.LinesSourceConnector"}'
    assert client.put("/connectors/lines/config", content=changed, headers=JSON).status_code == 202
    assert connect.noted == [("POST", "/connectors", new), ("PUT", "/connectors/lines/config", changed)]
    assert client.post("/connectors", json={"name": "c", "config": sink()}).status_code == 201
    assert herder.connectors() == ["c"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/tasks/0/status"),
        ("PUT", "/pause"),
        ("POST", "/restart?includeTasks=true&onlyFailed=false"),
        ("DELETE", "/offsets"),
    ],
)
def test_a_connector_of_the_runtime_is_left_to_it(
    client: httpx.Client, connect: Connect, method: str, path: str
) -> None:
    assert client.request(method, f"/connectors/lines{path}").status_code == 202
    assert connect.noted == [(method, f"/connectors/lines{path}", b"")]


def test_a_name_is_given_once(client: httpx.Client, connect: Connect, herder: Herder) -> None:
    herder.create("own", sink("own"))
    source = {"connector.class": SOURCE}
    for name, config in (("lines", sink("lines")), ("own", source)):
        taken = client.post("/connectors", json={"name": name, "config": config})
        assert_error(taken, 409, f"Connector {name} already exists")
        other = client.put(f"/connectors/{name}/config", json=config)
        assert_error(
            other,
            400,
            f"Connector {name} exists, and its new class runs elsewhere: classes of this worker and those of "
            "plugin.path do not replace each other. Nothing was changed; delete the connector first.",
        )
    assert connect.noted == []


def test_lists_are_of_both_sides(client: httpx.Client, herder: Herder) -> None:
    herder.create("c", sink())
    assert client.get("/connectors").json() == ["c", "lines"]
    assert client.get("/connectors?expand=info").json()["lines"].keys() == {"info"}
    both = client.get("/connectors?expand=info&expand=status").json()
    assert {name: entry.keys() for name, entry in both.items()} == dict.fromkeys(("c", "lines"), {"info", "status"})
    assert client.get("/connectors?expand=x").json() == {"c": {}, "lines": {}}
    plugins = client.get("/connector-plugins").json()
    assert {"class": SOURCE, "type": "source", "version": "1"} in plugins
    assert {plugin["type"] for plugin in plugins} == {"sink", "source"}
    assert client.head("/connectors").content == b""


def test_plugins_are_asked_of_their_side(client: httpx.Client, connect: Connect) -> None:
    assert client.get("/connector-plugins/LinesSource/config").status_code == 202
    assert client.put(f"/connector-plugins/{SOURCE}/config/validate", json={}).status_code == 202
    assert [method for method, _, _ in connect.noted] == ["GET", "PUT"]
    assert client.get("/connector-plugins/IcebergSink/config").status_code == 200
    assert_error(client.get("/connector-plugins/Nope/config"), 404, "Unknown plugin Nope.")


def test_rules_of_every_route_come_before_who_answers(client: httpx.Client, connect: Connect) -> None:
    path = "/connectors/lines/config"
    assert_error(
        client.put(path, content=b"{}", headers={"content-type": "text/plain"}), 415, "HTTP 415 Unsupported Media Type"
    )
    assert_error(client.get(path, headers={"accept": "text/html"}), 406, "HTTP 406 Not Acceptable")
    assert_error(client.post(path), 405, "HTTP 405 Method Not Allowed")
    broken = client.patch(path, content=b'{"a": ', headers=JSON)
    assert_error(broken, 400, "The request body is not JSON: Expecting value at line 1, column 7.")
    assert connect.noted == []


def test_a_runtime_that_is_down_is_a_service_that_does_not_answer(herder: Herder, tmp_path: Path) -> None:
    runtime = SourceRuntime(isolated_settings(tmp_path, SOURCE_CONNECT_URL="http://127.0.0.1:9"), {})
    info = WorkerInfo("k", KeptPositions(), ActiveTopics(), Loggers())
    server = serve(rest_app(herder, info, sources=runtime), "127.0.0.1", 0, "PORT")
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        assert client.get("/connectors").json() == []
        for answer in (
            client.get("/connector-plugins"),
            client.post("/connectors", json={"name": "new", "config": {"connector.class": SOURCE}}),
        ):
            assert answer.status_code == 500
            assert "runtime at http://127.0.0.1:9 does not answer (ConnectError)" in answer.json()["message"]
    server.stop()
    runtime.close()
