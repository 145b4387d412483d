"""GET / and GET /health."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from frazil.worker.rest.http import Resource, herder_of
from frazil.worker.rest.info import info_of
from frazil.worker.rest.operation import Operation


class Root(Resource):
    """Version of the API, build, and id of the Kafka cluster; a browser is led to the console instead."""

    @Operation("Version, build and Kafka cluster", {200: "Root"})
    def get(self, request: Request) -> Response:
        home: str = request.app.state.home
        if home and "text/html" in request.headers.get("accept", ""):
            return RedirectResponse(home, 303)
        info = info_of(request)
        return JSONResponse({"version": info.version, "commit": info.commit, "kafka_cluster_id": info.kafka_cluster_id})


class Health(Resource):
    """Whether the worker can handle requests."""

    while_starting = True

    @Operation("Whether the worker can handle requests", {200: "Health", 503: "Health"})
    def get(self, request: Request) -> Response:
        if herder_of(request).started:
            message = "Worker has completed startup and is ready to handle requests."
            return JSONResponse({"status": "healthy", "message": message})
        return JSONResponse({"status": "starting", "message": "Worker is still starting up."}, status_code=503)
