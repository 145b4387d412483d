"""The OpenAPI document, and the running worker against it: every method of every path with every status it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import jsonschema_rs
import pytest

from frazil.errors import Fenced
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.rest import openapi
from frazil.worker.rest.app import ROUTES, rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.rest.requests import placed, sink, wait_for
from tests.worker.watch.positions import KeptPositions

CLASS = "org.apache.iceberg.connect.IcebergSinkConnector"
CHANGE = {"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 1}}]}
LOGGER = "/admin/loggers/openapi-test"
VALIDATE = "/connector-plugins/IcebergSink/config/validate"


class Calls:
    """Sends requests and checks each answer against what the document says of its method, path and status."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.document: dict[str, Any] = client.get("/openapi.json").json()
        self.seen: set[tuple[str, str, str]] = set()

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> int:
        target = httpx.URL(path).path
        template = next(route.path for route in ROUTES if route.path_regex.fullmatch(target))
        declared = self.document["paths"][template][method.lower()]
        if body is not None and "requestBody" not in declared:
            raise AssertionError(f"{method} {template} takes no body")
        response = self.client.request(method, path, json=body, **more)
        status = str(response.status_code)
        assert status in declared["responses"], f"{method} {template}: {status} is not documented: {response.text}"
        content = declared["responses"][status].get("content")
        if content is None:
            assert response.content == b""
        else:
            self.check(content["application/json"]["schema"], response.json())
        self.seen.add((method.lower(), template, status))
        return response.status_code

    def check(self, schema: dict[str, Any], value: Any) -> None:
        whole = {**schema, "components": self.document["components"]}
        problems = [error.message for error in jsonschema_rs.validator_for(whole).iter_errors(value)]
        assert problems == [], value

    def documented(self) -> Iterator[tuple[str, str, str]]:
        for path, methods in self.document["paths"].items():
            for method, declared in methods.items():
                if method != "parameters":
                    yield from ((method, path, s) for s in declared["responses"] if s != "default")


@pytest.fixture
def call(client: httpx.Client) -> Calls:
    return Calls(client)


def test_it_is_served_and_is_that_of_the_routes(client: httpx.Client) -> None:
    assert client.get("/openapi.json").json() == json.loads(json.dumps(openapi.document(ROUTES)))


def test_its_form(call: Calls) -> None:
    document = call.document
    assert document["openapi"].startswith("3.1.")
    names = [m["operationId"] for p in document["paths"].values() for k, m in p.items() if k != "parameters"]
    assert len(names) == len(set(names)) == 30
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.validator_for({**schema, "components": document["components"]})
    text = json.dumps(document)
    for name in document["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, f"{name} is used nowhere"


def test_every_documented_status_is_given(
    call: Calls, client: httpx.Client, positions: KeptPositions, topics: ActiveTopics
) -> None:
    positions.offsets["c"] = {("t", 0): 3}
    for path in ("/", "/health", "/openapi.json", "/connector-plugins", "/connector-plugins?connectorsOnly=false"):
        assert call("GET", path) == 200
    bodies_of: dict[tuple[str, str], list[tuple[Any, int]]] = {
        ("POST", "/connectors"): [({"name": "c", "config": sink()}, 201), ({"name": "c", "config": sink()}, 409)],
        ("PUT", "/connectors/d/config"): [(sink("d"), 201), (sink("d"), 200), ({}, 400)],
        ("PATCH", "/connectors/d/config"): [({"x": None, "y": 1}, 200), ({"tasks.max": 0}, 400)],
        ("PATCH", "/connectors/x/config"): [({}, 404)],
        ("PUT", VALIDATE): [({"connector.class": CLASS, "n": None}, 200), ({}, 400)],
        ("PUT", LOGGER): [({"level": "DEBUG"}, 200), ({}, 400), ({"level": "LOUD"}, 404)],
        ("PUT", f"{LOGGER}?scope=cluster"): [({"level": "INFO"}, 204)],
    }
    for (method, path), bodies in bodies_of.items():
        for body, status in bodies:
            assert call(method, path, body) == status, (method, path, body)
    assert call("POST", "/connectors", {"name": "", "config": {}}) == 400
    wait_for(client, "c", "RUNNING")
    for query in ("", "?expand=status", "?expand=info&expand=status", "?expand=x"):
        assert call("GET", f"/connectors{query}") == 200
    for path in ("", "/config", "/status", "/tasks", "/tasks/0/status", "/offsets"):
        assert call("GET", f"/connectors/c{path}") == 200
        assert call("GET", f"/connectors/x{path}") == 404
    assert call("GET", "/admin/loggers") == call("GET", LOGGER) == 200
    assert call("GET", "/admin/loggers/no-such-logger") == 404
    assert [call("GET", f"/admin/events{query}") for query in ("", "?limit=x", "?limit=000000001" + "1" * 5000)] == [
        200,
        400,
        400,
    ]
    keys = "/connector-plugins/IcebergSink/config"
    assert [call("GET", f"{keys}{more}") for more in ("", "?version=99")] == [200, 400]
    assert call("GET", "/connector-plugins/Nope/config") == 404
    assert call("GET", "/connector-plugins/JsonConverter/config") == 200
    for query, status in (("", 204), ("?includeTasks=true", 202), ("?onlyFailed=true", 202)):
        assert call("POST", f"/connectors/c/restart{query}") == status
    assert call("POST", "/connectors/x/restart") == 404
    wait_for(client, "c", "RUNNING")
    assert [call("POST", f"/connectors/{task}/restart") for task in ("c/tasks/0", "c/tasks/7")] == [204, 404]
    for method, path in (("GET", "topics"), ("PUT", "topics/reset")):
        topics.enabled = True
        assert call(method, f"/connectors/c/{path}") == (200 if method == "GET" else 202)
        topics.enabled = False
        assert call(method, f"/connectors/c/{path}") == 403
    assert [call("PATCH", "/connectors/c/offsets", CHANGE), call("DELETE", "/connectors/c/offsets")] == [400, 400]
    for verb, status in (("pause", 202), ("resume", 202), ("stop", 204)):
        assert [call("PUT", f"/connectors/{name}/{verb}") for name in ("c", "x")] == [status, 404]
    wait_for(client, "c", "STOPPED")
    assert call("POST", "/connectors/c/tasks/0/restart") == 409
    for method, body in (("PATCH", CHANGE), ("DELETE", None)):
        assert [call(method, f"/connectors/{name}/offsets", body) for name in ("c", "x")] == [200, 404]
        positions.problem = Fenced("another worker has committed")
        assert call(method, "/connectors/c/offsets", body) == 409
        positions.problem = None
    assert [call("DELETE", f"/connectors/{name}") for name in ("c", "x")] == [204, 404]
    starting = {("get", "/health", "503")}
    of_groups = {(method, path, "409") for method, path in placed()}  # tests/worker/rest/test_forward.py
    assert set(call.documented()) - call.seen - of_groups == starting


def test_while_the_worker_starts(store: FileConfigStore, factory: ScriptedFactory) -> None:
    herder = Herder(store, factory, "w:1")
    info = WorkerInfo("k", KeptPositions(), ActiveTopics(), Loggers())
    server = serve(rest_app(herder, info), "127.0.0.1", 0, "PORT")
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        assert Calls(client)("GET", "/health") == 503
    server.stop()
    assert herder.close(5.0)


@pytest.mark.parametrize(
    ("ask", "status"),
    [
        (lambda client: client.get("/connectors", headers={"accept": "text/html"}), 406),
        (lambda client: client.put("/connectors/c/config", content=b"{}"), 415),
        (lambda client: client.put("/connectors/c/config", json={"a": "x" * (1 << 20)}), 413),
        (lambda client: client.post("/connectors/c/config"), 405),
    ],
)
def test_other_errors_have_the_common_form(call: Calls, ask: Callable[[httpx.Client], Any], status: int) -> None:
    response = ask(call.client)
    assert response.status_code == status
    call.check({"$ref": "#/components/schemas/Error"}, response.json())


def test_bodies_that_were_sent_are_those_of_the_document(call: Calls) -> None:
    schemas = {
        "NewConnector": {"name": "c", "config": sink(), "initial_state": None},
        "SentConfig": {"a": "b", "n": 1.5, "t": True},
        "ConfigPatch": {"a": None},
        "OffsetChanges": CHANGE,
        "NewLevel": {"level": "debug"},
    }
    for name, body in schemas.items():
        call.check({"$ref": f"#/components/schemas/{name}"}, body)
