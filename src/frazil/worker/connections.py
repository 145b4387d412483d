"""Bounds of a server's connections: how many there are, and how long each part of a request may take.

They count before a login, for plain and TLS connections alike: who only connects can take nothing from the connectors,
which share the process.
"""

import asyncio
import errno
import logging
import socket
import time
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import h11
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

logger = logging.getLogger(__name__)

_NO_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_S = 0.1


@dataclass(frozen=True)
class Bounds:
    """Connections at the same time, and seconds for a TLS handshake, the head of a request, its body, its answer."""

    connections: int = 256
    handshake_s: float = 10.0
    head_s: float = 10.0
    body_s: float = 30.0
    answer_s: float = 300.0


BOUNDS = Bounds()


class ListeningSocket(socket.socket):
    """Listening socket that closes a connection beyond `most` open ones at once."""

    def __init__(self, family: int, most: int) -> None:
        # With the protocol named, asyncio sends the parts of an answer at once; else the second waits 40 ms for the
        # client.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._most = most
        self._accepted: WeakSet[socket.socket] = WeakSet()

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; raises BlockingIOError when there is none to be had now."""
        try:
            accepted, address = super().accept()
        except OSError as error:
            if error.errno not in _NO_RESOURCES:
                raise
            # asyncio would log a trace for every connection that waits.
            logger.error("no connection can be accepted now: %s", error.strerror)
            time.sleep(_PAUSE_S)
            raise BlockingIOError from error
        if sum(other.fileno() >= 0 for other in self._accepted) >= self._most:
            accepted.close()
            logger.warning("a connection is refused: %d are open", self._most)
            raise BlockingIOError
        self._accepted.add(accepted)
        return accepted, address


class Loop(asyncio.SelectorEventLoop):
    """Event loop whose servers give up a TLS handshake in time."""

    def __init__(self, handshake_s: float) -> None:
        super().__init__()
        self._handshake_s = handshake_s

    async def create_server(self, *args: Any, **kwargs: Any) -> asyncio.Server:
        limit = self._handshake_s if kwargs.get("ssl") is not None else None
        return await super().create_server(*args, **kwargs, ssl_handshake_timeout=limit)


def with_one_length(app: ASGIApp) -> ASGIApp:
    """Refuse requests that tell the length of their body in both ways, and end their connections.

    A proxy before this server might take the other length, and something else for the next request (RFC 9112, 6.1).
    """

    async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope.get("headers", ())}
        if {b"content-length", b"transfer-encoding"} <= names:
            refused = PlainTextResponse("Content-Length beside Transfer-Encoding", 400, {"Connection": "close"})
            await refused(scope, receive, send)
        else:
            await app(scope, receive, send)

    return refusing


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 connection that is cut when the client does not send or take what is due in time."""

    def __init__(self, *args: Any, bounds: Bounds, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._seconds = {h11.IDLE: bounds.head_s, h11.SEND_BODY: bounds.body_s}
        self._answer_s = bounds.answer_s
        self._phase: object = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Set a new deadline when another part of a request has begun."""
        phase = self.conn.their_state
        if phase is self._phase:
            return
        self._phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(self._seconds.get(phase, self._answer_s), self.transport.abort)
