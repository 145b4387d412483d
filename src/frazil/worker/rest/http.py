"""Rules of every route: methods, content negotiation and bodies.

Where Kafka Connect 4.3.1 answers 500 to a client's mistake with the text of a Java exception (malformed JSON, no body,
a field it does not know), this worker answers 400 with a text that says what to change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from frazil.connectors.registry import warnings_of
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.body import Body, read_body

F = TypeVar("F", bound=Callable[..., Any])
Schema = Mapping[str, Any]

_NOTHING: Mapping[str, Schema] = MappingProxyType({})
_ATTRIBUTE = "__operation__"


@dataclass(frozen=True)
class Operation:
    """Operation on a path; decorates the method of the resource.

    `answers` has the name of the body's schema by status, None for no body; `errors` are statuses whose body is
    `{error_code, message}`; `body` is the schema of the request's body; `query` has the schemas of the parameters.
    """

    summary: str
    answers: Mapping[int, str | None]
    errors: tuple[int, ...] = ()
    body: str | None = None
    query: Mapping[str, Schema] = field(default_factory=lambda: _NOTHING)

    def __call__(self, method: F) -> F:
        setattr(method, _ATTRIBUTE, self)
        return method


def operation_of(method: object) -> Operation:
    """The declaration of a method; raises LookupError when it has none."""
    declared = getattr(method, _ATTRIBUTE, None)
    if not isinstance(declared, Operation):
        raise LookupError(f"{method} has no @Operation")
    return declared


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class Resource(HTTPEndpoint):
    """A path. Methods `get`, `post`, `put`, `patch` and `delete` are called in a thread and return a response.

    A method that names `body` among its parameters gets the parsed JSON body. The `Dispatcher` calls the method, or
    has somebody else answer. Until the herder has read its store the answer is 503: an empty list or "not found" would
    be wrong.
    """

    while_starting = False
    media: Sequence[str] = ("application/json",)
    """Media types, one of which a client has to accept."""

    async def dispatch(self) -> None:
        request = Request(self.scope, receive=self.receive)
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS":
            response = self._options(request)
        else:
            handler = getattr(self, method.lower(), None) if method in _METHODS else None
            if handler is None:
                raise HTTPException(405)
            _negotiate(request, self.media)
            if not (self.while_starting or herder_of(request).started):
                raise HTTPException(503, "Worker is still starting up.")
            body: Body | None = await read_body(request) if "body" in handler.__annotations__ else None
            response = await run_in_threadpool(request.app.state.dispatcher.answer, request, handler, body)
        await response(self.scope, self.receive, self.send)

    def _options(self, request: Request) -> Response:
        allowed = [method for method in _METHODS if hasattr(self, "get" if method == "HEAD" else method.lower())]
        allow = ",".join(sorted([*allowed, "OPTIONS"]))
        plain = _admits(request.headers.get("accept", "*/*"), "text", "plain")
        return Response(allow if plain else "", headers={"Allow": allow}, media_type="text/plain" if plain else None)


def _negotiate(request: Request, media: Sequence[str]) -> None:
    content_type = request.headers.get("content-type")
    sized = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    if content_type is not None or sized:
        media_type = (content_type or "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise HTTPException(415)
    accept = request.headers.get("accept", "*/*") or "*/*"
    if not any(_admits(accept, *one.split("/")) for one in media):
        raise HTTPException(406)


def _admits(accept: str, kind: str, subtype: str) -> bool:
    for part in accept.lower().split(","):
        media_range, *parameters = (piece.strip() for piece in part.split(";"))
        refused = any(parameter.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for parameter in parameters)
        if media_range in (f"{kind}/{subtype}", f"{kind}/*", "*/*") and not refused:
            return True
    return False


def herder_of(request: Request) -> Herder:
    """The Herder of the application."""
    herder: Herder = request.app.state.herder
    return herder


def masks(request: Request) -> bool:
    """Whether answers hide secrets."""
    return bool(request.app.state.masks)


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


_MOST, _LONGEST = 20, 500
_PLAIN = " !#$&'()*+,/:;<=>?@[]^`{|}~"


def with_warnings(response: Response, config: Mapping[str, str]) -> Response:
    """The answer with a header `299 frazil "…"` for each warning, percent-encoded."""
    for text in warnings_of(config)[:_MOST]:
        response.headers.append("Warning", f'299 frazil "{quote(text[:_LONGEST], safe=_PLAIN)}"')
    return response
