"""Connector names in URLs: every name has an address, also one with `/`, `%` or `\\`."""

from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from frazil.text.quoting import segment
from frazil.worker.rest.error import error_response

_SLASH = "\x00"


def sent_path(scope: Scope) -> bytes:
    """The path as it was sent, percent-encoded and without the query."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path.partition(b"?")[0]


def name_of(request: Request) -> str:
    """The connector name in the path, decoded."""
    return segment_of(request, "name")


def segment_of(request: Request, parameter: str) -> str:
    """A parameter of the path that is one segment, decoded."""
    name: str = request.path_params[parameter]
    return name.replace(_SLASH, "/")


def location_of(request: Request, name: str) -> dict[str, str]:
    """The Location header of a new connector; it decodes to the same name, whatever the name is."""
    return {"Location": f"{request.url.scheme}://{request.url.netloc}/connectors/{segment(name)}"}


class PathSegments:
    """Decodes each path segment by itself, so that names with an escaped `/` or `%` have an address.

    A trailing slash is dropped; an empty segment or an escape that is not UTF-8 gives 400.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            segments = sent_path(scope).split(b"/")[1:]
            if len(segments) > 1 and not segments[-1]:
                segments.pop()
            problem, decoded = _decode(segments)
            if problem:
                await error_response(400, problem)(scope, receive, send)
                return
            scope = {**scope, "path": "/" + "/".join(decoded)}
        await self._app(scope, receive, send)


def _decode(segments: list[bytes]) -> tuple[str | None, list[str]]:
    if len(segments) > 1 and b"" in segments:
        return "Ambiguous URI empty segment", []
    try:
        decoded = [unquote_to_bytes(segment).decode("utf-8") for segment in segments]
    except UnicodeDecodeError:
        return "The path has an escape that is not UTF-8", []
    if any(_SLASH in segment for segment in decoded):
        return "The path has an escaped NUL", []
    return None, [segment.replace("/", _SLASH) for segment in decoded]
