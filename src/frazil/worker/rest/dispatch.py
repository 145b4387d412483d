"""Decides who answers a request, before the method of its resource is called."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from frazil.errors import AlreadyExists, ConfigError
from frazil.worker.rest.body import Body
from frazil.worker.rest.forward import Forwarder, OtherWorker
from frazil.worker.rest.masking import mask
from frazil.worker.rest.paths import name_of
from frazil.worker.rest.sources import Sources

Place = Literal["own", "leader", "owner", "runtime"]
"""Place of an answer: this worker, the one of its group that writes configurations, the one that runs the
connector, or the Kafka Connect runtime of source connectors."""

PLACES: Mapping[tuple[str, str], OtherWorker] = {
    ("POST", "/connectors"): "leader",
    ("DELETE", "/connectors/{name}"): "leader",
    ("PUT", "/connectors/{name}/config"): "leader",
    ("PATCH", "/connectors/{name}/config"): "leader",
    ("PUT", "/connectors/{name}/pause"): "leader",
    ("PUT", "/connectors/{name}/resume"): "leader",
    ("PUT", "/connectors/{name}/stop"): "leader",
    ("POST", "/connectors/{name}/restart"): "owner",
    ("POST", "/connectors/{name}/tasks/{task}/restart"): "owner",
    ("PATCH", "/connectors/{name}/offsets"): "owner",
    ("DELETE", "/connectors/{name}/offsets"): "owner",
}
"""Places of answers in a group; any worker answers all else from what it has read. Requests about the runtime's go
there whatever the route, or to the leader, which has it."""

_OTHER_SIDE = (
    "Connector {} exists, and its new class runs elsewhere: classes of this worker and those of plugin.path do not "
    "replace each other. Nothing was changed; delete the connector first."
)


class Dispatcher:
    """Dispatch of requests to where they belong.

    A worker that is alone has no `forwarder`, one without source connectors no `sources`.
    """

    def __init__(self, forwarder: Forwarder | None = None, sources: Sources | None = None) -> None:
        self._forwarder = forwarder
        self._sources = sources

    def answer(self, request: Request, handler: Callable[..., Response], body: Body | None) -> Response:
        """The answer, without secrets where the worker hides them. Raises as `_answer`."""
        response = self._answer(request, handler, body)
        if request.app.state.masks:
            mask(response)
        return response

    def _answer(self, request: Request, handler: Callable[..., Response], body: Body | None) -> Response:
        """The answer of `handler`, the method of the request's resource, or of whoever the request belongs to.

        Raises a FrazilError or HTTPException where there is none.
        """
        route = request.method, request.scope["route"].path
        name = name_of(request) if "name" in request.path_params else None
        content = b"" if body is None else body.content
        if self._forwarder is not None:
            self._forwarder.check(request, content)
        place = self._place(request, route, name, None if body is None else body.json)
        if self._sources is not None and place == "runtime":
            return self._sources.relay(request, content)
        if self._forwarder is not None and place in ("leader", "owner"):
            return self._forwarder.send(request, place, name, content)
        response = handler(request) if body is None else handler(request, body.json)
        if self._forwarder is not None and PLACES.get(route) == "leader":
            self._forwarder.mark(response)
        return response

    def _place(self, request: Request, route: tuple[str, str], name: str | None, document: Any) -> Place:
        if self._sources is not None and _concerns(self._sources, request, route, name, document):
            return "runtime" if self._sources.here else "leader"
        place = PLACES.get(route)
        if place is None or self._forwarder is None or self._forwarder.is_here(place, name):
            return "own"
        return place


def _concerns(sources: Sources, request: Request, route: tuple[str, str], name: str | None, document: Any) -> bool:
    """Whether a request is about a connector or a plugin of the runtime. Raises as `Sources` does."""
    fields = document if isinstance(document, dict) else {}
    match route:
        case "POST", "/connectors":
            new = str(fields.get("name") or "").strip()
            return sources.take(new, fields.get("config"), AlreadyExists(f"Connector {new} already exists"))
        case "PUT", "/connectors/{name}/config" if name is not None:
            return sources.take(name, fields, ConfigError(_OTHER_SIDE.format(name)))
    plugin = request.path_params.get("plugin")
    if plugin is not None:
        return sources.has_plugin(plugin)
    return name is not None and sources.has(name, request)
