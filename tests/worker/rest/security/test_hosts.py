"""Requests for names that a worker does not have, over real HTTP."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest

from frazil.environment.listeners import Listener, parse_listeners
from frazil.stack.ports import unused
from frazil.worker.actuator.app import serve_actuator
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.app import serve_rest
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.rest.security.hosts import ALLOWED, allowed_hosts
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from frazil.worker.watch.metrics import Metrics
from tests.worker.watch.positions import KeptPositions

Serve = Callable[..., str]

OWN = ("127.0.0.1:{port}", "localhost:{port}", "LocalHost", "localhost.", "ui.localhost:{port}", "[::1]:{port}")
FOREIGN = ("evil.example:{port}", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "a b")


@pytest.fixture
def serve(herder: Herder) -> Iterator[Serve]:
    """Serves on loopback, or where `listeners` says; returns the address."""
    with ExitStack() as stack:

        def start(properties: dict[str, str], listeners: str = "http://127.0.0.1:{}") -> str:
            (port,) = unused(1)
            info = WorkerInfo("cluster-1", KeptPositions(), ActiveTopics(), Loggers())
            for server in serve_rest(
                herder, info, parse_listeners(listeners.format(port), "listeners"), properties, {}
            ):
                stack.callback(server.stop)
            return f"http://127.0.0.1:{port}"

        yield start


def status(url: str, host: str, method: str = "GET", path: str = "/connectors") -> int:
    host = host.format(port=httpx.URL(url).port)
    return httpx.request(method, url + path, headers={"host": host}, trust_env=False).status_code


def test_a_worker_on_loopback_has_its_own_names_only(serve: Serve) -> None:
    url = serve({})
    assert {host: status(url, host) for host in OWN} == dict.fromkeys(OWN, 200)
    assert {host: status(url, host) for host in FOREIGN} == dict.fromkeys(FOREIGN, 403)
    assert status(url, "evil.example", "POST", "/connectors/c/restart") == 403
    assert status(url, "evil.example", "OPTIONS") == 403
    refused = httpx.get(url, headers={"host": "evil.example"}, trust_env=False).json()
    assert refused["error_code"] == 403
    assert "does not answer to the name 'evil.example'" in refused["message"]
    assert f"add the name to {ALLOWED}" in refused["message"]


def test_names_that_are_configured(serve: Serve) -> None:
    url = serve({ALLOWED: "connect.example, Other.example", "rest.advertised.host.name": "worker-1"})
    for host in ("connect.example", "OTHER.EXAMPLE:80", "worker-1", "localhost"):
        assert status(url, host) == 200, host
    assert status(url, "evil.example") == 403
    assert status(serve({ALLOWED: "*"}), "evil.example") == 200


def test_a_worker_on_the_network_checks_what_is_configured(serve: Serve) -> None:
    assert status(serve({}, "http://0.0.0.0:{}"), "connect.example") == 200
    url = serve({ALLOWED: "connect.example"}, "http://0.0.0.0:{}")
    assert status(url, "connect.example") == 200
    assert status(url, "evil.example") == 403


def test_a_client_that_names_no_host(serve: Serve) -> None:
    address = httpx.URL(serve({}))
    with socket.create_connection((address.host, address.port or 0), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b" 200 " in connection.recv(100)


def test_the_actuator(herder: Herder) -> None:
    (port,) = unused(1)
    metrics = Metrics(lambda: {}, lambda: {})
    server = serve_actuator(herder, metrics, {}, port, {ALLOWED: "metrics.example"}, Loggers(), {})
    try:
        path = "/actuator/health"
        for host, expected in (("127.0.0.1", 200), ("metrics.example", 200), ("evil.example", 403)):
            assert status(f"http://127.0.0.1:{port}", host, path=path) == expected
    finally:
        server.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.9.9.9"])
def test_which_listeners_are_checked(host: str) -> None:
    assert allowed_hosts(Listener("http", host, 1), {}) == frozenset([host])
