"""TLS with a check of the credentials before a real Trino server, as a proxy of an organisation does it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import httpx
import trustme

from frazil.environment.settings import LOOPBACK
from tests.waits import PATIENCE_S
from tests.web import Handler, running, server_of, url_of

_DROPPED = ("content-length", "transfer-encoding", "content-encoding", "connection")


class TlsProxy:
    """Forwards what has the `authorization`; `seen` are the requests that arrived.

    Without `rewrites` the server's next URLs keep their plain http, as behind a proxy that was not set up for it.
    """

    def __init__(self, upstream: str, issuer: trustme.CA) -> None:
        self.authorization = ""
        self.rewrites = True
        self.seen: list[str] = []
        self._upstream = upstream
        proxy = self

        class Forwarding(Handler):
            protocol_version = "HTTP/1.1"

            def _handle(self) -> None:
                proxy.answer(self, self.body())

            do_GET = do_POST = do_DELETE = _handle

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issuer.issue_cert(LOOPBACK).configure_cert(context)
        self._server = server_of(Forwarding, context)
        self.url = url_of(self._server)

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        self.seen.append(f"{handler.command} {handler.path}")
        if handler.headers.get("Authorization") != self.authorization:
            _send(handler, 401, {}, b"")
            return
        headers = {name: value for name, value in handler.headers.items() if name.lower().startswith("x-trino")}
        with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
            reply = client.request(handler.command, self._upstream + handler.path, headers=headers, content=body)
        content = reply.content
        if self.rewrites:
            content = content.replace(self._upstream.encode(), self.url.encode())
        _send(handler, reply.status_code, dict(reply.headers), content)

    @contextmanager
    def running(self) -> Iterator[TlsProxy]:
        with running(self._server):
            yield self


def _send(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        if name.lower() not in _DROPPED:
            handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
