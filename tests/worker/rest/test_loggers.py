"""Levels of loggers over HTTP."""

from __future__ import annotations

import logging
import uuid

import httpx
import pytest

from tests.worker.rest.requests import assert_error


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
