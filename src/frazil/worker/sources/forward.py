"""Requests about connectors that run on Kafka Connect's own runtime, at the same REST API as all others.

Names are shared: whoever lists connectors or plugins gets both, and a name is given once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import httpx
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frazil.connectors.registry import find_connector
from frazil.errors import ConfigError, FrazilError, ServiceUnavailable
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.body import read_body
from frazil.worker.rest.error import error_response
from frazil.worker.rest.forward import CONFLICT, Forwarder, sent_to
from frazil.worker.sources.runtime import SourceRuntime

_SENT = ("accept", "content-type")
_KEPT = ("content-type", "location", "allow")


class SourceForwarding:
    """Sends requests on to the runtime, merges lists, and leaves all others to the application.

    In a group, where the leader has the runtime, its followers send on to the leader.
    """

    def __init__(
        self, app: ASGIApp, herder: Herder, sources: SourceRuntime, forwarder: Forwarder | None = None
    ) -> None:
        self._app = app
        self._herder = herder
        self._sources = sources
        self._forwarder = forwarder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._herder.started:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        sends_body = request.method in ("POST", "PUT", "PATCH")
        try:
            body = await read_body(request) if sends_body else b""
        except HTTPException as error:
            await error_response(error.status_code, error.detail)(scope, receive, send)
            return
        try:
            answer = await run_in_threadpool(self._answer, request, body)
        except FrazilError as error:
            status = 400 if isinstance(error, ConfigError) else 503 if isinstance(error, ServiceUnavailable) else 500
            answer = error_response(status, str(error))
        except HTTPException as error:
            answer = error_response(error.status_code, error.detail)
        if answer is not None:
            await answer(scope, receive, send)
        else:
            await self._app(scope, _replayed(body) if sends_body else receive, send)

    def _answer(self, request: Request, body: bytes) -> Response | None:
        """The runtime's answer; None for what is the application's own."""
        parts = [part.replace("\x00", "/") for part in request.scope["path"].split("/")[1:]]
        method = "GET" if request.method == "HEAD" else request.method
        if self._forwarder is not None and not self._sources.here:
            return self._follow(self._forwarder, request, parts, method, body)
        match parts:
            case ["connectors"] if method == "GET":
                return self._list(request, self._sources.connectors())
            case ["connectors"] if method == "POST":
                return self._create(request, body)
            case ["connectors", name, "config"] if method == "PUT":
                return self._put(request, name, body)
            case ["connectors", name, *_] if self._sources.in_use and name not in self._herder.connectors():
                if name not in self._sources.connectors():
                    return None
                self._sources.require()
                return self._forward(request, body)
            case ["connector-plugins"] if method == "GET":
                return self._plugins(request)
            case ["connector-plugins", name, "config", *_] if self._is_foreign(name):
                self._sources.ensure()
                return self._forward(request, body)
        return None

    def _follow(
        self, leader: Forwarder, request: Request, parts: list[str], method: str, body: bytes
    ) -> Response | None:
        """The leader's answer; None for what is the application's own."""
        if sent_to(request) == "leader":
            raise HTTPException(409, CONFLICT)
        if not self._sources.possible:
            return None
        match parts:
            case ["connectors"] if method == "GET":
                return self._list(request, self._told(leader, request))
            case ["connectors", name, *_] if sent_to(request) is None and name not in self._herder.connectors():
                return leader.send(request, "leader", None, body)
            case ["connector-plugins"] if method == "GET":
                return self._plugins(request)
            case ["connector-plugins", name, "config", *_] if self._is_foreign(name):
                return leader.send(request, "leader", None, body)
        return None

    def _told(self, leader: Forwarder, request: Request) -> Mapping[str, Any]:
        """The connectors of the runtime as the leader tells them; while it does not, they are UNASSIGNED."""
        everything = leader.all_of_leader(request)
        if everything is None:
            return self._sources.seen()
        own = self._herder.connectors()
        self._sources.saw({name: entry for name, entry in everything.items() if name not in own})
        return everything

    def _list(self, request: Request, found: Mapping[str, Any]) -> Response | None:
        own = self._herder.connectors()
        theirs = {name: entry for name, entry in found.items() if name not in own}
        asked = parse_qs(request.scope["query_string"].decode("latin-1")).get("expand", [])
        if not theirs:
            return None
        if not asked:
            return JSONResponse(sorted([*own, *theirs]))
        return _Merged(self._app, {name: {k: v for k, v in e.items() if k in asked} for name, e in theirs.items()})

    def _create(self, request: Request, body: bytes) -> Response | None:
        document = _parsed(body)
        config = document.get("config")
        name = str(document.get("name") or "").strip()
        class_name = str(config.get("connector.class", "")) if isinstance(config, dict) else ""
        foreign = self._is_foreign(class_name)
        taken = name in (self._herder.connectors() if foreign else self._sources.connectors())
        if taken:
            return error_response(409, f"Connector {name} already exists")
        if not foreign:
            return None
        self._sources.ensure()
        return self._forward(request, body)

    def _put(self, request: Request, name: str, body: bytes) -> Response | None:
        foreign = self._is_foreign(str(_parsed(body).get("connector.class", "")))
        if foreign and name in self._herder.connectors() or not foreign and name in self._sources.connectors():
            raise ConfigError(
                f"Connector {name} exists, and its new class runs elsewhere: classes of this worker and those of "
                "plugin.path do not replace each other. Nothing was changed; delete the connector first."
            )
        if not foreign:
            return None
        self._sources.ensure()
        return self._forward(request, body)

    def _plugins(self, request: Request) -> Response | None:
        theirs = self._foreign()
        if not theirs:
            return None
        return _Merged(self._app, [{"class": p.class_name, "type": p.type, "version": p.version} for p in theirs])

    def _foreign(self) -> list[Any]:
        return [plugin for plugin in self._sources.plugins() if not _is_own(plugin.class_name)]

    def _is_foreign(self, class_name: str) -> bool:
        return bool(class_name) and not _is_own(class_name) and any(p.is_called(class_name) for p in self._foreign())

    def _forward(self, request: Request, body: bytes) -> Response:
        raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        query: bytes = request.scope["query_string"]
        path = raw.split(b"?")[0].decode("ascii") + (f"?{query.decode('latin-1')}" if query else "")
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        answer = self._sources.call(request.method, path, body or None, headers)
        return Response(answer.content, answer.status_code, _headers(answer, request))


def _headers(answer: httpx.Response, request: Request) -> dict[str, str]:
    """Headers of the answer; a new connector's address is that of this worker."""
    kept = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
    if "location" in kept:
        path = httpx.URL(kept["location"]).raw_path.decode("ascii")
        kept["location"] = f"{request.url.scheme}://{request.url.netloc}{path}"
    return kept


def _is_own(class_name: str) -> bool:
    try:
        find_connector(class_name)
    except ConfigError:
        return False
    return True


def _parsed(body: bytes) -> Mapping[str, Any]:
    """The object of a request; an empty one for what the application has to refuse."""
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _replayed(body: bytes) -> Receive:
    """The request's body for the application, which has been read already."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


class _Merged(Response):
    """The application's answer with `more` added to its JSON: entries of an object, or of an array."""

    def __init__(self, app: ASGIApp, more: Any) -> None:
        super().__init__()
        self._inner = app
        self._more = more

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message = {}
        content = bytearray()

        async def collect(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
            else:
                content.extend(message.get("body", b""))

        await self._inner(scope, receive, collect)
        if start["status"] != 200 or scope["method"] == "HEAD":
            merged = Response(bytes(content), start["status"])
            merged.raw_headers = start["headers"]
        else:
            own = json.loads(content)
            merged = JSONResponse({**own, **self._more} if isinstance(own, dict) else [*own, *self._more])
        await merged(scope, receive, send)
