"""Rules of every route: methods, content negotiation, bodies and errors (connect-rest.md 2.7, 4, 11).

Where Kafka Connect 4.3.1 answers 500 to a client's mistake with the text of a Java exception (11.4: malformed JSON,
no body, a field it does not know), this worker answers 400 with a text that says what to change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from frazil.errors import AlreadyExists, ConfigError, Fenced, NotFound, Rebalancing
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.body import parse_json, read_body
from frazil.worker.rest.error import error_response
from frazil.worker.rest.forward import Forwarder
from frazil.worker.rest.operation import operation_of
from frazil.worker.rest.paths import name_of

logger = logging.getLogger(__name__)

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_REASONS = {
    404: "HTTP 404 Not Found",
    405: "HTTP 405 Method Not Allowed",
    406: "HTTP 406 Not Acceptable",
    415: "HTTP 415 Unsupported Media Type",
}


async def on_http_exception(request: Request, error: Exception) -> Response:
    """404 unknown path, 405, 406, 413, 415 and other refusals."""
    if not isinstance(error, HTTPException):
        raise error
    return error_response(error.status_code, _REASONS.get(error.status_code, error.detail))


async def on_frazil_error(request: Request, error: Exception) -> Response:
    """Errors of the herder: ConfigError 400, NotFound 404, AlreadyExists, Rebalancing and Fenced 409, others 500."""
    codes = ((ConfigError, 400), (NotFound, 404), (AlreadyExists, 409), (Rebalancing, 409), (Fenced, 409))
    status = next((code for kind, code in codes if isinstance(error, kind)), 500)
    if status == 500:
        logger.error("%s %s failed: %s", request.method, request.url.path, error)
    return error_response(status, str(error))


async def on_error(request: Request, error: Exception) -> Response:
    """A fault of the worker itself; the server logs it with its trace."""
    return error_response(500, f"Internal error of the worker ({type(error).__name__}); its log has the details.")


class Resource(HTTPEndpoint):
    """A path. Methods `get`, `post`, `put`, `patch` and `delete` are called in a thread and return a response.

    A method that names `body` among its parameters gets the parsed JSON body. Until the herder has read its store
    the answer is 503: an empty list or "not found" would be wrong.
    """

    while_starting = False

    async def dispatch(self) -> None:
        request = Request(self.scope, receive=self.receive)
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS":
            response = self._options(request)
        else:
            handler = getattr(self, method.lower(), None) if method in _METHODS else None
            if handler is None:
                raise HTTPException(405)
            _negotiate(request, method)
            if not (self.while_starting or herder_of(request).started):
                raise HTTPException(503, "Worker is still starting up.")
            response = await self._answer(request, handler)
        await response(self.scope, self.receive, self.send)

    async def _answer(self, request: Request, handler: Callable[..., Response]) -> Response:
        takes_body = "body" in handler.__annotations__
        body = await read_body(request) if takes_body else b""
        forwarder: Forwarder | None = request.app.state.forwarder
        place = operation_of(handler).place
        if forwarder is not None and place != "any":
            name = name_of(request) if "name" in request.path_params else None
            if forwarder.elsewhere(place, name):
                return await run_in_threadpool(forwarder.send, request, place, name, body)
        arguments = (request, parse_json(body)) if takes_body else (request,)
        response: Response = await run_in_threadpool(handler, *arguments)
        if forwarder is not None and place == "leader":
            forwarder.mark(response)
        return response

    def _options(self, request: Request) -> Response:
        allowed = [method for method in _METHODS if hasattr(self, "get" if method == "HEAD" else method.lower())]
        allow = ",".join(sorted([*allowed, "OPTIONS"]))
        plain = _admits(request.headers.get("accept", "*/*"), "text", "plain")
        return Response(allow if plain else "", headers={"Allow": allow}, media_type="text/plain" if plain else None)


def _negotiate(request: Request, method: str) -> None:
    content_type = request.headers.get("content-type")
    sized = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    if content_type is not None or sized:
        media_type = (content_type or "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise HTTPException(415)
    if not _admits(request.headers.get("accept", "*/*") or "*/*", "application", "json"):
        raise HTTPException(406)


def _admits(accept: str, kind: str, subtype: str) -> bool:
    for part in accept.lower().split(","):
        media_range, *parameters = (piece.strip() for piece in part.split(";"))
        refused = any(parameter.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for parameter in parameters)
        if media_range in (f"{kind}/{subtype}", f"{kind}/*", "*/*") and not refused:
            return True
    return False


def herder_of(request: Request) -> Herder:
    herder: Herder = request.app.state.herder
    return herder


def number_of(request: Request) -> int:
    """The task number in the path; 404 when it is no integer."""
    text: str = request.path_params["task"]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise HTTPException(404)
    return int(text)


def flag(request: Request, name: str, default: bool = False) -> bool:
    """A query parameter: `true` in any case is true, any other text is false."""
    text = request.query_params.get(name)
    return default if text is None else text.lower() == "true"
