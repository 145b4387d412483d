"""Requests and answers that several REST tests share."""

from __future__ import annotations

from urllib.parse import quote

import httpx

from frazil.worker.rest.dispatch import PLACES
from tests.connectors.samples import MINIMAL_SINK
from tests.harness import state_of
from tests.waits import eventually


def sink(name: str = "c", **changes: str) -> dict[str, str]:
    return {**MINIMAL_SINK, "name": name, **{key.replace("__", "."): value for key, value in changes.items()}}


def create(client: httpx.Client, name: str = "c", **changes: str) -> None:
    assert client.post("/connectors", json={"name": name, "config": sink(name, **changes)}).status_code == 201
    wait_for(client, name, "RUNNING")


def wait_for(client: httpx.Client, name: str, state: str) -> None:
    path = f"/connectors/{quote(name, safe='')}/status"
    eventually(lambda: state_of(client.get(path).json()) == state)


def assert_error(response: httpx.Response, status: int, message: str) -> None:
    assert response.headers["content-type"] == "application/json"
    assert (response.status_code, response.json()) == (status, {"error_code": status, "message": message})


def placed() -> list[tuple[str, str]]:
    """Methods and paths that one certain worker of a group answers."""
    return [(method.lower(), path) for method, path in PLACES]
