"""A gate before a service: a port that forwards connections, or closes them all while the gate is shut."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator

from frazil.environment.settings import LOOPBACK


class Gate:
    """Forwards to a port of loopback; use `running`."""

    def __init__(self, port: int) -> None:
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._shut = False
        gate = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                if not gate._shut:
                    gate._forward(self.request, port)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server((LOOPBACK, 0), Handler)
        self.port: int = self._server.server_address[1]

    @contextlib.contextmanager
    def running(self) -> Iterator[Gate]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.shut()
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def shut(self) -> None:
        """Close all connections, and each new one at once."""
        self._shut = True
        with self._lock:
            for each in self._sockets:
                with contextlib.suppress(OSError):  # the other side may have closed it just now
                    each.shutdown(socket.SHUT_RDWR)

    def open(self) -> None:
        """Forward again."""
        self._shut = False

    def _forward(self, near: socket.socket, port: int) -> None:
        with socket.create_connection((LOOPBACK, port)) as far:
            with self._lock:
                self._sockets |= {near, far}
            back = threading.Thread(target=_pump, args=(far, near), daemon=True)
            back.start()
            _pump(near, far)
            back.join()
            with self._lock:
                self._sockets -= {near, far}


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):  # a side that closes ends both directions
        while data := source.recv(1 << 16):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
