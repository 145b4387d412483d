"""Connections that clients do not use as they should: the server goes on for the others."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from frazil.worker.connections import Bounds
from frazil.worker.rest.security.tls import server_context
from frazil.worker.server import Server, serve
from tests.tls import PASSWORD, Authority
from tests.waits import PATIENCE_S, eventually


async def echo(request: Request) -> Response:
    return PlainTextResponse(await request.body())


async def large(request: Request) -> Response:
    return PlainTextResponse(b"x" * (64 << 20))


APP = Starlette(routes=[Route("/", echo, methods=["GET", "POST"]), Route("/large", large)])
QUICK = Bounds(connections=8, handshake_s=0.2, head_s=0.2, body_s=0.2, answer_s=0.3)
Start = Callable[..., Server]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def start(bounds: Bounds = QUICK, tls: object = None) -> Server:
            server = serve(APP, "127.0.0.1", 0, "P", tls, bounds)  # type: ignore[arg-type]
            stack.callback(server.stop)
            return server

        yield start


def connect(server: Server, sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
    connection.sendall(sent)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTT",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ],
)
def test_a_request_that_does_not_come_to_its_end_is_cut(start: Start, sent: bytes) -> None:
    with connect(start(), sent) as connection:
        assert is_closed(connection)


def test_a_body_with_two_lengths_ends_the_connection(start: Start) -> None:
    """A proxy before the server may see another request behind it."""
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with connect(start(), head + b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n") as connection:
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


def test_bytes_that_trickle_do_not_put_the_end_off(start: Start) -> None:
    with connect(start(), b"GET / HTTP/1.1\r\nX-A: ") as connection:
        ended = time.monotonic() + PATIENCE_S
        with pytest.raises(OSError):
            while time.monotonic() < ended:
                connection.sendall(b"a")
                time.sleep(0.02)


def test_an_answer_that_nobody_takes_is_given_up(start: Start) -> None:
    server = start()
    with connect(server, b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n"):
        eventually(lambda: len(server._server.server_state.connections) == 1)  # noqa: SLF001
        eventually(lambda: not server._server.server_state.connections)  # noqa: SLF001


def test_a_handshake_that_does_not_come_to_its_end_is_cut(
    start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    authority = Authority(tmp_path_factory.mktemp("tls"))
    keys = {"ssl.keystore.location": str(authority.jks(authority.server, "s")), "ssl.keystore.password": PASSWORD}
    server = start(tls=server_context(keys, ""))
    with connect(server) as connection:
        assert is_closed(connection)


def test_requests_of_one_connection_have_their_time_each(start: Start) -> None:
    server = start()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        for _ in range(5):
            assert client.post("/", content=b"abc").text == "abc"
            time.sleep(0.1)


def test_connections_beyond_the_bound_are_refused_and_others_come_in_when_some_are_gone(start: Start) -> None:
    server = start(Bounds(connections=8))
    held = [connect(server, b"GET / HTT") for _ in range(8)]
    with connect(server) as ninth:
        assert is_closed(ninth)
    for connection in held:
        connection.close()

    def answers() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{server.port}/", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    eventually(answers)


def test_a_process_without_free_files_goes_on_when_there_are_some(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    server = start(Bounds())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    probe = os.open(os.devnull, os.O_RDONLY)
    os.close(probe)
    client = socket.socket()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (probe + 1, hard))
        client.connect(("127.0.0.1", server.port))
        eventually(lambda: "no connection can be accepted now" in caplog.text)
        time.sleep(0.3)
        assert len(caplog.records) < 20
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        client.close()
    assert httpx.get(f"http://127.0.0.1:{server.port}/", trust_env=False).status_code == 200
