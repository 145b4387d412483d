"""Web servers of tests on loopback; the tests' own asserts say what happened there."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

from frazil.environment.settings import LOOPBACK

S = TypeVar("S", bound=ThreadingHTTPServer)


class Handler(BaseHTTPRequestHandler):
    """A handler that prints nothing."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def server_of(handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> ThreadingHTTPServer:
    """A server on a free port, which does not run yet."""
    server = ThreadingHTTPServer((LOOPBACK, 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server


def url_of(server: ThreadingHTTPServer) -> str:
    return f"{'https' if isinstance(server.socket, ssl.SSLSocket) else 'http'}://{LOOPBACK}:{server.server_port}"


@contextmanager
def running(server: S) -> Iterator[S]:
    """Serve until the end of the block; what is being answered by HTTP/1.0 is waited for."""
    if getattr(server.RequestHandlerClass, "protocol_version", "") == "HTTP/1.0":
        server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve until the end of the block, at this URL."""
    with running(server_of(handler)) as server:
        yield url_of(server)
