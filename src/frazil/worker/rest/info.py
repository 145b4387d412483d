"""Facts about the worker and its loggers: what the REST API answers with of them."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from frazil.connectors.keys.versions import VERSION
from frazil.declare.converters import CONNECT_VERSION
from frazil.errors import ConfigError, NotFound
from frazil.text.events import KEPT
from frazil.worker.rest.http import Operation, Resource, herder_of
from frazil.worker.rest.schemas import TEXT
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.events import EventLog
from frazil.worker.watch.loggers import LEVELS, Loggers
from frazil.worker.watch.positions import Positions


@dataclass(frozen=True)
class WorkerInfo:
    """The cluster that the worker reads, and where positions, active topics and loggers are kept.

    `set_on_all` sets the level of a logger on all workers of a group; None for a worker that is alone.
    """

    kafka_cluster_id: str
    positions: Positions
    active_topics: ActiveTopics
    loggers: Loggers
    set_on_all: Callable[[str, str], None] | None = None
    version: str = CONNECT_VERSION
    commit: str = f"frazil-{VERSION}"
    events: EventLog = field(default_factory=EventLog)


def info_of(request: Request) -> WorkerInfo:
    """The WorkerInfo of the application."""
    info: WorkerInfo = request.app.state.info
    return info


class Root(Resource):
    """Version of the API, build, and id of the Kafka cluster; a browser is led to the console instead."""

    media = ("application/json", "text/html")

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


class AllLoggers(Resource):
    """Levels of all loggers of the worker."""

    @Operation("Levels of all loggers that are not OFF", {200: "Loggers"})
    def get(self, request: Request) -> Response:
        return JSONResponse({name: asdict(level) for name, level in info_of(request).loggers.all().items()})


class Events(Resource):
    """Events: what this worker's connectors went through, and what users changed."""

    @Operation(
        "Newest events of this worker, the newest first",
        {200: "Events"},
        errors=(400,),
        query={"connector": TEXT, "limit": {"type": "integer", "minimum": 1, "maximum": KEPT, "default": 50}},
    )
    def get(self, request: Request) -> Response:
        limit = request.query_params.get("limit", "50")
        if not (limit.isascii() and limit.isdigit() and len(limit) < 10 and 1 <= int(limit) <= KEPT):
            raise ConfigError(f"limit is a number from 1 to {KEPT}, not {limit!r}.")
        found = info_of(request).events.newest(int(limit), request.query_params.get("connector"))
        return JSONResponse([asdict(each) for each in found])


class OneLogger(Resource):
    """Level of one logger, and of those below it."""

    @Operation("Level of a logger", {200: "LoggerLevel"}, errors=(404,))
    def get(self, request: Request) -> Response:
        name: str = request.path_params["logger"]
        level = info_of(request).loggers.get(name)
        if level is None:
            raise NotFound(f"Logger {name} not found.")
        return JSONResponse(asdict(level))

    @Operation(
        "Set the level of a logger and of those below it",
        {200: "Names", 204: None},
        errors=(400, 404),
        body="NewLevel",
        query={"scope": {**TEXT, "enum": ["worker", "cluster"], "default": "worker"}},
    )
    def put(self, request: Request, body: Any) -> Response:
        info, logger, level = info_of(request), request.path_params["logger"], _level(body)
        everywhere = request.query_params.get("scope", "").lower() == "cluster"
        if everywhere and info.set_on_all is not None:
            info.set_on_all(logger, level)
            return Response(status_code=204)
        changed = info.loggers.set(logger, level)
        return Response(status_code=204) if everywhere else JSONResponse(changed)


def _level(body: Any) -> str:
    if not isinstance(body, dict):
        raise ConfigError('The request body is not a JSON object; send {"level": "DEBUG"}.')
    level = body.get("level")
    if level is None:
        raise ConfigError("Desired 'level' parameter was not specified in request.")
    if not isinstance(level, str) or level.upper() not in LEVELS:
        raise NotFound(f"invalid log level '{level}'.")
    return level.upper()
