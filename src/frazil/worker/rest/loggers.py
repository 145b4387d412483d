"""Levels of the worker's loggers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.errors import ConfigError, NotFound
from frazil.worker.rest.http import Resource
from frazil.worker.rest.info import info_of
from frazil.worker.rest.operation import Operation
from frazil.worker.rest.schemas import TEXT
from frazil.worker.watch.loggers import LEVELS


class AllLoggers(Resource):
    """Levels of all loggers of the worker."""

    @Operation("Levels of all loggers that are not OFF", {200: "Loggers"})
    def get(self, request: Request) -> Response:
        return JSONResponse({name: asdict(level) for name, level in info_of(request).loggers.all().items()})


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
