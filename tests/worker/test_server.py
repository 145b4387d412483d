from __future__ import annotations

import socket
import threading

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from frazil.errors import PortTaken, StackError
from frazil.worker.server import serve


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("hello")


APP = Starlette(routes=[Route("/", hello)])


def test_it_answers_until_it_is_stopped_and_gives_the_port_back() -> None:
    for _ in range(2):
        server = serve(APP, "127.0.0.1", 24100, "KAFKA_CONNECT_PORT")
        assert server.port == 24100
        assert httpx.get("http://127.0.0.1:24100/", trust_env=False).text == "hello"
        server.stop()
        server.stop()
        with pytest.raises(httpx.ConnectError):
            httpx.get("http://127.0.0.1:24100/", trust_env=False)
    assert [thread.name for thread in threading.enumerate() if thread.name == "http-24100"] == []


def test_a_taken_port_names_the_variable() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"^Port {port} on 127.0.0.1 is used .* set ACTUATOR_PORT to another port"):
            serve(APP, "127.0.0.1", port, "ACTUATOR_PORT")


def test_an_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(StackError, match="Cannot listen on 192.0.2.1:0"):
        serve(APP, "192.0.2.1", 0, "ACTUATOR_PORT")


def test_an_answer_is_not_held_back() -> None:
    """Head and body are two packets; without TCP_NODELAY the second waits for the client's acknowledgement, 40 ms."""
    server = serve(APP, "127.0.0.1", 0, "KAFKA_CONNECT_PORT")
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
            took = sorted(client.get("/").elapsed.total_seconds() for _ in range(41))
    finally:
        server.stop()
    assert took[20] < 0.03
