"""Web pages that may change something: the worker's own, and those of the origins that its keys allow.

A page of anywhere can make a browser send requests here, with the user's login and without a preflight. What a page
cannot change is what the browser tells of it in `Origin` and `Sec-Fetch-Site`; other clients send neither.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from frazil.worker.rest.error import error_response

logger = logging.getLogger(__name__)

_SAFE = ("GET", "HEAD", "OPTIONS")
_ANY = "*"


class OriginCheck:
    """Answers 403 to requests of foreign pages that could change something; nothing is done then."""

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        """`origins` are the foreign ones that are allowed; `*` is any."""
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in _SAFE or self._is_allowed(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        origin = Headers(scope=scope).get("origin", "unknown")
        logger.warning("refused: %s %s of a page from %r", scope["method"], scope["path"], origin)
        message = (
            f"A web page from {origin!r} may not change anything here. Nothing was done. If it is yours, add its "
            "origin to access.control.allow.origin of the worker."
        )
        await error_response(403, message)(scope, receive, send)

    def _is_allowed(self, headers: Headers) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if _ANY in self._origins or origin in self._origins:
            return True
        if site is not None:
            return site in ("same-origin", "none")
        return origin is None or origin.partition("://")[2] == headers.get("host")
