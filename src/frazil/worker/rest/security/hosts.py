"""Names that a worker answers to, and web pages that may change something there.

A browser takes whatever a page's name resolves to for the page's own server, also when that is this machine (DNS
rebinding), and sends requests of any page with the user's login, without a preflight. What a page cannot change is what
the browser tells: the name in `Host`, and the page's origin in `Origin` and `Sec-Fetch-Site`, which others do not send.
"""

import logging
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from frazil.environment.listeners import Listener
from frazil.text.lists import listed
from frazil.worker.rest.error import error_response

logger = logging.getLogger(__name__)

ALLOWED = "frazil.rest.allowed.hosts"
_ADVERTISED = "rest.advertised.host.name"
_ANY = "*"


def allowed_hosts(listener: Listener, properties: Mapping[str, str]) -> frozenset[str] | None:
    """Names that requests to a listener may be for, besides addresses and `localhost`; None when any may be.

    `properties` are the worker's keys. A listener that the network reaches is checked only when
    `frazil.rest.allowed.hosts` is set: what it is called there, nobody but its users can know.
    """
    named = set(listed(properties.get(ALLOWED, "").lower()))
    if _ANY in named or not (named or listener.is_local):
        return None
    return frozenset({*named, listener.host.lower(), properties.get(_ADVERTISED, "").strip().lower()} - {""})


class HostCheck:
    """Answers 403 to requests for a name that is not this worker's; nothing is done then."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Only HTTP/1.0 goes without the header, which no browser speaks.
        asked = Headers(scope=scope).get("host", "") if scope["type"] == "http" else ""
        if not asked or self._is_own(asked):
            await self._app(scope, receive, send)
            return
        logger.warning("refused: %s %s for the host %r", scope["method"], scope["path"], asked)
        message = (
            f"This worker does not answer to the name {asked!r}: a web page could make a browser call it by such a "
            f"name. Nothing was done. Use its address or localhost, or add the name to {ALLOWED} of the worker."
        )
        await error_response(403, message)(scope, receive, send)

    def _is_own(self, asked: str) -> bool:
        try:
            name = (urlsplit(f"//{asked}").hostname or "").rstrip(".")
        except ValueError:
            return False
        return name in self._hosts or name == "localhost" or name.endswith(".localhost") or _is_address(name)


def _is_address(name: str) -> bool:
    """Whether the name is an IP address, which no page can make lead elsewhere."""
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


_SAFE = ("GET", "HEAD", "OPTIONS")


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
