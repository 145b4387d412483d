"""Serves an ASGI application from a background thread of the worker."""

import asyncio
import errno
import socket
import ssl
import threading
import time
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from frazil.errors import PortTaken, StackError
from frazil.worker.connections import BOUNDS, BoundedProtocol, Bounds, ListeningSocket, Loop, with_one_length

_START_S = 10.0
_OPEN_REQUESTS_S = 5


class Server:
    """A running HTTP server; `stop` lets open requests finish."""

    def __init__(self, app: ASGIApp, bound: socket.socket, tls: ssl.SSLContext | None, bounds: Bounds) -> None:
        self.port: int = bound.getsockname()[1]
        protocol: Any = partial(BoundedProtocol, bounds=bounds)
        config = uvicorn.Config(
            with_one_length(app),
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_OPEN_REQUESTS_S,
            ssl_context_factory=None if tls is None else lambda config, default: tls,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name=f"http-{self.port}", daemon=True)
        self._socket = bound
        self._handshake_s = bounds.handshake_s

    def start(self) -> None:
        """Return when requests are answered; raises StackError when the server ends or needs over 10 s."""
        self._thread.start()
        give_up = time.monotonic() + _START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > give_up:
                self.stop()
                raise StackError(f"The HTTP server on port {self.port} did not start; the worker's log has the reason")
            time.sleep(0.01)

    def stop(self) -> None:
        """Finish open requests (5 s at most) and close the port; idempotent."""
        self._server.should_exit = True
        self._thread.join(_OPEN_REQUESTS_S + 2)
        self._socket.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: Loop(self._handshake_s)) as runner:
            runner.run(self._server.serve(sockets=[self._socket]))


def serve(
    app: ASGIApp, host: str, port: int, variable: str, tls: ssl.SSLContext | None = None, bounds: Bounds = BOUNDS
) -> Server:
    """Start to serve on `host`:`port` (0: any free port), with `tls` over HTTPS only.

    Raises PortTaken, naming the environment variable `variable` that moves the port; nothing is left running then.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = ListeningSocket(family, bounds.connections)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(128)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"Port {port} on {host} is used by another process; nothing was started. "
                f"Stop that process, or set {variable} to another port."
            ) from error
        raise StackError(f"Cannot listen on {host}:{port}: {error}; nothing was started") from error
    server = Server(app, bound, tls, bounds)
    server.start()
    return server
