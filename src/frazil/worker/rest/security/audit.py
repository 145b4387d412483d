"""Audit of the REST API: who changed what, when, from where, and what became of it."""

import logging
import re
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frazil.worker.rest.forward import HOP
from frazil.worker.rest.paths import sent_path
from frazil.worker.rest.security.login import credentials
from frazil.worker.rest.security.users import only_looks
from frazil.worker.watch.events import EventLog

logger = logging.getLogger(__name__)

_REFUSED, _UNAUTHORIZED, _FAILED = 400, 401, 500
_CONNECTOR = re.compile(r"/connectors/([^/]+)")
_MOST_TEXT = 300


class Audit:
    """Adds an event for each request that may have changed something.

    Requests that are refused are in the worker's log alone: whoever may change nothing could fill the events with them.
    """

    def __init__(self, app: ASGIApp, events: EventLog, *, users: bool) -> None:
        """Make it; without `users` nobody has checked the names that requests come with, and none is told."""
        self._app = app
        self._events = events
        self._users = users

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or only_looks(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(scope, message["status"], Headers(raw=message.get("headers", [])).get("location", ""))
            await send(message)

        await self._app(scope, receive, noting)

    def _note(self, scope: Scope, status: int, location: str) -> None:
        headers = Headers(scope=scope)
        refused = _REFUSED <= status < _FAILED
        if status == _UNAUTHORIZED or (HOP in headers and not refused):  # which login or the first worker notes
            return
        path = sent_path(scope).decode("latin-1")
        found = _CONNECTOR.search(location or path)
        user, _ = credentials(headers.get("authorization", "")) if self._users else (None, "")
        address = scope.get("client")
        said = f"{scope['method']} {path[:_MOST_TEXT]}: {status}"
        client = address[0] if address else ""
        if refused:
            logger.warning("refused to user %r from %s: %s", user or "", client, said)
        else:
            self._events.add("request", said, unquote(found[1]) if found else "", user or "", client)
