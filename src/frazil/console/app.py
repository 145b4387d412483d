"""Routes of the console, and how its pages are answered: rendered, live, or as an error that says what to do."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import anyio
from anyio import to_thread
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from frazil.console import connector, forms, letters, letters_change, offsets, overview, sample, tables
from frazil.console.render import Content, Fragment, Page, not_found, render, render_fragments, render_problem
from frazil.console.report import report_page
from frazil.console.sql import sql_page
from frazil.errors import FrazilError, NotFound, UsageError
from frazil.worker.pages import WorkerView

_LIVE_S = 2.0
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_ASSETS = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}

Make = Callable[[WorkerView, Request], Page]
Parts = Callable[[WorkerView, Request], Sequence[Fragment]]


@dataclass(frozen=True)
class _Console:
    """The console of one worker; its pages are made in threads, since most of them ask a broker or a catalog."""

    view: WorkerView

    def page(self, make: Make) -> Callable[[Request], object]:
        """Endpoint of a page."""

        async def answer(request: Request) -> Response:
            return await run_in_threadpool(self._answer, make, request)

        return answer

    def _answer(self, make: Make, request: Request) -> Response:
        try:
            page = make(self.view, request)
        except NotFound as error:
            return _html(render_problem(str(error)), 404)
        except UsageError as error:
            return _html(render_problem(str(error)), 400)
        except FrazilError as error:
            return _html(render_problem(str(error)), 503)
        return _html(render(page), page.status)

    def live(self, make: Parts) -> Callable[[Request], object]:
        """Endpoint of the changes of a page, as server-sent events: the parts whose text is not what it was."""

        async def answer(request: Request) -> Response:
            return StreamingResponse(
                self._changes(make, request), media_type="text/event-stream", headers=dict(_HEADERS)
            )

        return answer

    async def _changes(self, make: Parts, request: Request) -> AsyncIterator[str]:
        def parts() -> Mapping[str, Content]:
            return render_fragments(make(self.view, request))

        shown: Mapping[str, Content] = {}
        while not self.view.stopping.is_set():
            try:
                found = await to_thread.run_sync(parts)
            except FrazilError as error:
                yield f"event: problem\ndata: {json.dumps(str(error))}\n\n"
            else:
                changed = {name: text for name, text in found.items() if shown.get(name) != text}
                gone = [name for name in shown if name not in found]
                shown = found
                yield f"event: parts\ndata: {json.dumps({'changed': changed, 'gone': gone})}\n\n"
            await anyio.sleep(_LIVE_S)


def console_routes(view: WorkerView) -> list[Route]:
    """The routes under `/ui`."""
    console = _Console(view)
    pages: dict[str, Make] = {
        "/ui": overview.page,
        "/ui/connectors/{name}": connector.page,
        "/ui/new": forms.new,
        "/ui/connectors/{name}/edit": forms.edit,
        "/ui/connectors/{name}/offsets": offsets.page,
        "/ui/tables": tables.listing,
        "/ui/tables/{namespace}/{table}": tables.page,
        "/ui/deadletters": letters.page,
        "/ui/sql": sql_page,
        "/ui/report": report_page,
    }
    sent: dict[str, Make] = {
        "/ui/sql/answer": sql_page,
        "/ui/report/made": report_page,
        "/ui/sample": sample.page,
        "/ui/tables/{namespace}/{table}/maintenance": tables.maintain,
        "/ui/deadletters/replay": letters_change.replay,
        "/ui/deadletters/drop": letters_change.drop,
    }
    return [
        *(Route(path, console.page(make)) for path, make in pages.items()),
        Route("/ui/live", console.live(overview.parts)),
        Route("/ui/live/connectors/{name}", console.live(connector.parts)),
        *(Route(path, console.page(make), methods=["POST"]) for path, make in sent.items()),
        Route("/ui/static/{name}", _asset),
        Route("/ui/{rest:path}", console.page(not_found)),
    ]


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    found = files("frazil.console").joinpath("static", name)
    if name not in _ASSETS:
        raise HTTPException(404)
    headers = {**_HEADERS, "Cache-Control": "max-age=3600"}
    return Response(found.read_bytes(), media_type=_ASSETS[name], headers=headers)


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, dict(_HEADERS), media_type="text/html")
