"""A proxy before the real catalog that loses, falsifies or delays answers to commits."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Literal
from urllib.parse import urlsplit

from tests.web import Handler, running, server_of, url_of

Fault = Literal[
    "pass",
    "500 after",
    "503 after",
    "504 after",
    "409 after",
    "close after",
    "close before",
    "500 before",
    "503 before",
    "429 before",
    "409 before",
    "400 before",
    "drop all",
    "hold before",
    "hold after",
    "late",
]


class CatalogProxy:
    """Forwards everything; `faults` are what happens to the next commits, one each. `commits` counts those forwarded.

    `drop all` forwards the commit, then closes every connection, this one's and later ones, without an answer.
    `hold` sets `held` and keeps the request, or the answer to it, until `let_go`; then the connection is closed, and
    the catalog never gets what was held before it. What is `late` is held too, but the catalog gets it in the end.
    """

    def __init__(self, catalog_uri: str) -> None:
        self.faults: list[Fault] = []
        self.requested = 0
        self.commits = 0
        self.down = False
        self.held = threading.Event()
        self._free = threading.Event()
        self._upstream = urlsplit(catalog_uri).netloc
        proxy = self

        class Forwarding(Handler):
            protocol_version = "HTTP/1.1"

            def _handle(self) -> None:
                proxy.answer(self, self.body())

            do_GET = do_POST = do_HEAD = do_DELETE = _handle

        self._server = server_of(Forwarding)
        self.uri = url_of(self._server)

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        is_commit = handler.command == "POST" and b'"updates"' in body
        fault: Fault = "pass"
        if is_commit:
            self.requested += 1
            fault = self.faults.pop(0) if self.faults else "pass"
        what, _, when = fault.partition(" ")
        if fault in ("hold before", "late"):
            self._hold()
        if not self.down and when != "before":
            status, encoding, answer = self._forward(handler, body)
            self.commits += is_commit
        if fault == "hold after":
            self._hold()
        if self.down or what in ("close", "drop", "hold", "late"):
            handler.close_connection = True
        elif what == "pass":
            _send(handler, status, answer, encoding)
        else:
            _send(
                handler, int(what), b'{"error":{"message":"from the proxy","type":"Fault","code":%s}}' % what.encode()
            )
        self.down = self.down or what == "drop"

    def _hold(self) -> None:
        self.held.set()
        self._free.wait()

    def let_go(self) -> None:
        """Close the connections that are held; nothing is held from now on."""
        self._free.set()

    def _forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, str, bytes]:
        upstream = http.client.HTTPConnection(self._upstream, timeout=30)
        try:
            upstream.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
            for name, value in handler.headers.items():  # as they are: the signature covers them
                upstream.putheader(name, value)
            upstream.endheaders(body)
            response = upstream.getresponse()
            encoding = response.headers.get("Content-Encoding", "identity")
            return response.status, encoding, response.read()
        finally:
            upstream.close()

    @contextmanager
    def running(self) -> Iterator[CatalogProxy]:
        with running(self._server):
            try:
                yield self
            finally:
                self.let_go()


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, encoding: str = "identity") -> None:
    handler.send_response(status)
    handler.send_header("Content-Encoding", encoding)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)
