"""The OpenAPI document of the REST API, made from the routes and from what their methods declare."""

import re
from collections.abc import Iterable, Iterator
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from frazil.connectors.keys.versions import VERSION
from frazil.worker.rest.http import Operation, Resource, operation_of
from frazil.worker.rest.schemas import SCHEMAS, TEXT, WHOLE, Json, ref

METHODS = ("get", "post", "put", "patch", "delete")

_PARAMETERS: dict[str, tuple[Json, str]] = {
    "name": (TEXT, "Name of a connector, percent-encoded."),
    "task": (WHOLE, "Number of a task, from 0."),
    "plugin": (TEXT, "Class name or alias of a plugin."),
    "logger": (TEXT, "Name of a logger; `root` is the root of all."),
}


class OpenApi(Resource):
    """This API as an OpenAPI document."""

    while_starting = True

    @Operation("This API as an OpenAPI document", {200: "OpenApi"})
    def get(self, request: Request) -> Response:
        routes = (route for route in request.app.routes if isinstance(route, Route) and _is_resource(route))
        return JSONResponse(document(routes))


def _is_resource(route: Route) -> bool:
    return isinstance(route.endpoint, type) and issubclass(route.endpoint, Resource)


def document(routes: Iterable[Route]) -> Json:
    """The OpenAPI 3.1 document of the routes."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "frazil worker",
            "version": VERSION,
            "description": "The REST API of Kafka Connect 4.3.1. Every path answers 406 to an `Accept` without JSON, "
            "a request with a body 413 when it is larger than 1 MiB and 415 when its `Content-Type` is not JSON, and "
            "all but `/health` and `/openapi.json` 503 while the worker starts.",
        },
        "paths": {route.path: _path(route) for route in routes},
        "components": {"schemas": dict(SCHEMAS)},
    }


def operations(route: Route) -> Iterator[tuple[str, Operation]]:
    """The methods of a route in lower case, with what they declare."""
    for method in METHODS:
        handler = getattr(route.endpoint, method, None)
        if handler is not None:
            yield method, operation_of(handler)


def _path(route: Route) -> Json:
    names = re.findall(r"\{(\w+)\}", route.path)
    found: Json = {method: _operation(route, method, declared) for method, declared in operations(route)}
    if names:
        found["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": _PARAMETERS[name][0]}
            | {"description": _PARAMETERS[name][1]}
            for name in names
        ]
    return found


def _operation(route: Route, method: str, declared: Operation) -> Json:
    responses: Json = {str(status): _response(status, schema) for status, schema in declared.answers.items()}
    responses |= {str(status): _response(status, "Error") for status in declared.errors}
    if 201 in declared.answers:
        responses["201"]["headers"] = {"Location": {"schema": TEXT, "description": "URL of the connector."}}
    responses["default"] = _content("Error") | {"description": "Any other error"}
    result: Json = {
        "operationId": f"{method}{route.endpoint.__name__}",
        "summary": declared.summary,
        "responses": dict(sorted(responses.items())),
    }
    if declared.query:
        result["parameters"] = [
            {"name": name, "in": "query", "schema": dict(schema)} for name, schema in declared.query.items()
        ]
    if declared.body:
        result["requestBody"] = {"required": True, **_content(declared.body)}
    return result


def _response(status: int, schema: str | None) -> Json:
    described: Json = {"description": HTTPStatus(status).phrase}
    return described | (_content(schema) if schema else {})


def _content(schema: str) -> Json:
    return {"content": {"application/json": {"schema": ref(schema)}}}
