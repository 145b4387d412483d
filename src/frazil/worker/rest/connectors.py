"""/connectors and /connectors/{name}, its config, status and lifecycle (connect-rest.md 2.2)."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.engine.runner_api import TargetState
from frazil.errors import ConfigError, NotFound
from frazil.worker.rest.body import config_map
from frazil.worker.rest.http import Resource, flag, herder_of
from frazil.worker.rest.info import info_of
from frazil.worker.rest.operation import operation
from frazil.worker.rest.paths import location_of, name_of
from frazil.worker.rest.schemas import FLAG
from frazil.worker.rest.shapes import info_json, status_json

_CREATE_FIELDS = ("name", "config", "initial_state")
_INITIAL_STATES: dict[str, TargetState] = {"RUNNING": "RUNNING", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}


class Connectors(Resource):
    """List and create."""

    @operation(
        "All connectors",
        {200: "Connectors"},
        query={"expand": {"type": "array", "items": {"enum": ["status", "info"]}}},
    )
    def get(self, request: Request) -> Response:
        herder = herder_of(request)
        asked = request.query_params.getlist("expand")
        if not asked:
            return JSONResponse(herder.connectors())
        expanded: dict[str, dict[str, object]] = {}
        for name in herder.connectors():
            entry: dict[str, object] = {}
            try:
                if "status" in asked:
                    entry["status"] = status_json(herder.status(name))
                if "info" in asked:
                    entry["info"] = info_json(herder.info(name))
            except NotFound:
                continue  # deleted since it was listed: left out (A4)
            expanded[name] = entry
        return JSONResponse(expanded)

    @operation("Create a connector", {201: "ConnectorInfo"}, errors=(400, 409), body="NewConnector", place="leader")
    def post(self, request: Request, body: Any) -> Response:
        name, config, target = _create_request(body)
        info = herder_of(request).create(name, config, target)
        return JSONResponse(info_json(info), status_code=201, headers=location_of(request, name))


def _create_request(body: Any) -> tuple[str, dict[str, str | None], TargetState]:
    if not isinstance(body, dict):
        raise ConfigError("The request body is not a JSON object with the fields name and config.")
    unknown = sorted(set(body) - set(_CREATE_FIELDS))
    if unknown:
        raise ConfigError(
            f'Unrecognized field "{unknown[0]}"; the fields of a new connector are {", ".join(_CREATE_FIELDS)}.'
        )
    name = config_map({"name": body.get("name")}, "The request body")["name"]
    config = config_map(body.get("config"), "The field config")
    state = body.get("initial_state")
    if state is None:
        return (name or "").strip(), config, "RUNNING"
    target = _INITIAL_STATES.get(state.upper()) if isinstance(state, str) else None
    if target is None:
        raise ConfigError(f"The initial_state is none of {', '.join(_INITIAL_STATES)}.")
    return (name or "").strip(), config, target


class Connector(Resource):
    """Show and delete."""

    @operation("Configuration and tasks", {200: "ConnectorInfo"}, errors=(404,))
    def get(self, request: Request) -> Response:
        return JSONResponse(info_json(herder_of(request).info(name_of(request))))

    @operation(
        "Delete a connector; its table, topics and position stay", {204: None}, errors=(404, 409), place="leader"
    )
    def delete(self, request: Request) -> Response:
        herder_of(request).delete(name_of(request))
        info_of(request).active_topics.reset(name_of(request))
        return Response(status_code=204)


class ConnectorConfig(Resource):
    """The configuration, exactly as it was sent."""

    @operation("The configuration as it was sent", {200: "Config"}, errors=(404,))
    def get(self, request: Request) -> Response:
        return JSONResponse(dict(herder_of(request).info(name_of(request)).config))

    @operation(
        "Create a connector or replace its configuration",
        {200: "ConnectorInfo", 201: "ConnectorInfo"},
        errors=(400, 409),
        body="SentConfig",
        place="leader",
    )
    def put(self, request: Request, body: Any) -> Response:
        name = name_of(request)
        info, created = herder_of(request).put_config(name, config_map(body, "The request body"))
        if created:
            return JSONResponse(info_json(info), status_code=201, headers=location_of(request, name))
        return JSONResponse(info_json(info))

    @operation("Change some keys", {200: "ConnectorInfo"}, errors=(400, 404, 409), body="ConfigPatch", place="leader")
    def patch(self, request: Request, body: Any) -> Response:
        info = herder_of(request).patch_config(name_of(request), config_map(body, "The request body"))
        return JSONResponse(info_json(info))


class Status(Resource):
    """State of the connector and its tasks."""

    @operation("State of a connector and of its tasks", {200: "Status"}, errors=(404,))
    def get(self, request: Request) -> Response:
        herder = herder_of(request)
        return JSONResponse(status_json(herder.status(name_of(request))))


class Restart(Resource):
    """Start the connector anew."""

    @operation(
        "Restart a connector",
        {202: "Status", 204: None},
        errors=(404, 409),
        query={"includeTasks": {**FLAG, "default": False}, "onlyFailed": {**FLAG, "default": False}},
        place="owner",
    )
    def post(self, request: Request) -> Response:
        herder = herder_of(request)
        include_tasks, only_failed = flag(request, "includeTasks"), flag(request, "onlyFailed")
        status = herder.restart(name_of(request), include_tasks, only_failed)
        if not include_tasks and not only_failed:
            return Response(status_code=204)
        return JSONResponse(status_json(status), status_code=202)


class Pause(Resource):
    """Stop reading, keep the tasks."""

    @operation("Stop reading and keep the tasks", {202: None}, errors=(404, 409), place="leader")
    def put(self, request: Request) -> Response:
        herder_of(request).pause(name_of(request))
        return Response(status_code=202)


class Resume(Resource):
    """Read again."""

    @operation("Read again", {202: None}, errors=(404, 409), place="leader")
    def put(self, request: Request) -> Response:
        herder_of(request).resume(name_of(request))
        return Response(status_code=202)


class Stop(Resource):
    """Stop reading, give up the tasks."""

    @operation("Stop reading and give up the tasks", {204: None}, errors=(404, 409), place="leader")
    def put(self, request: Request) -> Response:
        herder_of(request).stop(name_of(request))
        return Response(status_code=204)
