from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from frazil.clients.connect import ConnectClient
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import ConfigError, NotFound, ServiceUnavailable, TerminalError
from frazil.minio.deployment.connectors import connectors
from frazil.stack.ports import unused
from tests.rest_worker import rest_worker
from tests.waits import eventually
from tests.web import Handler, served

CONFIG = connectors(Settings({}))["iceberg-sink-apilogs"]
NAME = "odd name/ä?#%"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[ConnectClient]:
    with rest_worker(tmp_path) as (url, _), ConnectClient(url) as client:
        yield client


def test_life_of_a_connector(client: ConnectClient) -> None:
    assert client.connectors() == []
    assert client.put_config(NAME, CONFIG) is True
    assert client.put_config(NAME, CONFIG | {"tasks.max": "1"}) is False
    assert client.connectors() == [NAME]
    assert client.config(NAME) == CONFIG | {"tasks.max": "1", "name": NAME}
    eventually(lambda: client.status(NAME)["connector"]["state"] == "RUNNING")
    client.restart(NAME)
    client.delete(NAME)
    assert client.connectors() == []


def test_unknown_connector(client: ConnectClient) -> None:
    for call in (client.status, client.config, client.restart, client.delete):
        with pytest.raises(NotFound, match="404"):
            call("missing")


def test_refused_configuration_comes_with_the_workers_message(client: ConnectClient) -> None:
    with pytest.raises(ConfigError, match="400 Connector configuration is invalid(?s:.*)tasks.max") as error:
        client.put_config(
            "bad", CONFIG | {"tasks.max": "zero", "iceberg.catalog.s3.secret-access-key": "hidden-secret"}
        )
    assert "hidden-secret" not in str(error.value)
    assert client.connectors() == []


def test_no_worker() -> None:
    (port,) = unused(1)
    unanswered = pytest.raises(ServiceUnavailable, match=rf"the worker at http://127\.0\.0\.1:{port} does not answer")
    with ConnectClient(f"http://{LOOPBACK}:{port}") as client, unanswered:
        client.connectors()


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """Another server on the port: answers everything in the same way."""

    class Answering(Handler):
        def do_GET(self) -> None:
            self.answer(status, body)

    with served(Answering) as url:
        yield url


@pytest.mark.parametrize(
    ("status", "body", "error", "text"),
    [
        (409, b'{"error_code":409,"message":"rebalance in process"}', ServiceUnavailable, "409 rebalance in process"),
        (500, b"boom", ServiceUnavailable, "500 boom"),
        (
            503,
            b'{"message":"Worker is still starting up."}',
            ServiceUnavailable,
            "starting up. Nothing was changed; `status`",
        ),
        (405, b'{"error_code":405,"message":"HTTP 405 Method Not Allowed"}', TerminalError, "405 HTTP 405"),
        (200, b"<html>", TerminalError, "not that of a Kafka Connect worker"),
        (200, b"[]", TerminalError, "not that of a Kafka Connect worker"),
    ],
)
def test_answers_and_their_errors(status: int, body: bytes, error: type[Exception], text: str) -> None:
    with answering(status, body) as url, ConnectClient(url) as client, pytest.raises(error, match=text):
        client.status("x")


def test_a_list_of_connectors_must_be_a_list() -> None:
    refused = pytest.raises(TerminalError, match="not that of a Kafka Connect worker")
    with answering(200, b"{}") as url, ConnectClient(url) as client, refused:
        client.connectors()


def test_a_worker_that_starts_is_waited_for_where_that_can_be_told() -> None:
    answers = [(503, b'{"message":"Worker is still starting up."}')] * 2 + [(200, b'{"name":"x"}')]

    class Starting(Handler):
        def do_GET(self) -> None:
            self.answer(*answers.pop(0))

    told: list[str] = []
    with served(Starting) as url, ConnectClient(url, told.append) as client:
        assert client.info("x") == {"name": "x"}
    assert told == [f"waiting for the worker at {url}: Worker is still starting up."]
