"""/connectors and /connectors/{name}, its config, status, lifecycle, tasks and topics."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.connectors.keys.versions import VERSION
from frazil.engine.runner_api import TargetState
from frazil.errors import ConfigError, NotFound, Rebalancing
from frazil.worker.lifecycle.status import ConnectorInfo, ConnectorStatus, OwnStatus
from frazil.worker.rest.body import config_map
from frazil.worker.rest.http import Operation, Resource, flag, herder_of, masks, number_of, with_warnings
from frazil.worker.rest.info import info_of
from frazil.worker.rest.masking import unmasked
from frazil.worker.rest.paths import location_of, name_of
from frazil.worker.rest.schemas import FLAG
from frazil.worker.rest.sources import sources_of
from frazil.worker.storage.configs import NO_LEADER
from frazil.worker.watch.active_topics import ActiveTopics


def info_json(info: ConnectorInfo) -> dict[str, object]:
    """Configuration, tasks and type of a connector."""
    return {
        "name": info.name,
        "config": dict(info.config),
        "tasks": [{"connector": info.name, "task": number} for number in range(info.tasks)],
        "type": info.type,
    }


def status_json(status: ConnectorStatus) -> dict[str, object]:
    """Status of a connector with its tasks; all values inside `connector` are strings."""
    return {
        "name": status.name,
        "connector": _own_json(status),
        "tasks": [task_json(number, task) for number, task in status.tasks.items()],
        "type": status.type,
    }


def task_json(number: int, task: OwnStatus) -> dict[str, object]:
    """Status of one task."""
    return {"id": number, **_own_json(task)}


def _own_json(status: OwnStatus) -> dict[str, object]:
    body: dict[str, object] = {"state": status.state, "worker_id": status.worker_id, "version": VERSION}
    return {**body, "trace": status.trace} if status.trace else body


_CREATE_FIELDS = ("name", "config", "initial_state")
_INITIAL_STATES: dict[str, TargetState] = {"RUNNING": "RUNNING", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}


class Connectors(Resource):
    """List the connectors, or create one."""

    @Operation(
        "All connectors",
        {200: "Connectors"},
        query={"expand": {"type": "array", "items": {"enum": ["status", "info"]}}},
    )
    def get(self, request: Request) -> Response:
        herder, sources = herder_of(request), sources_of(request)
        asked = request.query_params.getlist("expand")
        theirs = {} if sources is None else sources.connectors(request)
        if not asked:
            return JSONResponse(sorted([*herder.connectors(), *theirs]))
        expanded: dict[str, dict[str, object]] = {}
        for name in herder.connectors():
            entry: dict[str, object] = {}
            try:
                if "status" in asked:
                    entry["status"] = status_json(herder.status(name))
                if "info" in asked:
                    entry["info"] = info_json(herder.info(name))
            except NotFound:
                continue  # deleted since it was listed: left out
            expanded[name] = entry
        for name, told in theirs.items():
            expanded[name] = {key: value for key, value in told.items() if key in asked}
        return JSONResponse(expanded)

    @Operation("Create a connector", {201: "ConnectorInfo"}, errors=(400, 409), body="NewConnector")
    def post(self, request: Request, body: Any) -> Response:
        name, config, target = _create_request(request, body)
        info = herder_of(request).create(name, config, target)
        created = JSONResponse(info_json(info), status_code=201, headers=location_of(request, name))
        return with_warnings(created, info.config)


def _create_request(request: Request, body: Any) -> tuple[str, dict[str, str | None], TargetState]:
    if not isinstance(body, dict):
        raise ConfigError("The request body is not a JSON object with the fields name and config.")
    unknown = sorted(set(body) - set(_CREATE_FIELDS))
    if unknown:
        raise ConfigError(
            f'Unrecognized field "{unknown[0]}"; the fields of a new connector are {", ".join(_CREATE_FIELDS)}.'
        )
    name = config_map({"name": body.get("name")}, "The request body")["name"]
    config = config_map(body.get("config"), "The field config")
    if masks(request):
        config = unmasked(config, {})
    state = body.get("initial_state")
    if state is None:
        return (name or "").strip(), config, "RUNNING"
    target = _INITIAL_STATES.get(state.upper()) if isinstance(state, str) else None
    if target is None:
        raise ConfigError(f"The initial_state is none of {', '.join(_INITIAL_STATES)}.")
    return (name or "").strip(), config, target


class Connector(Resource):
    """Show or delete a connector."""

    @Operation("Configuration and tasks", {200: "ConnectorInfo"}, errors=(404,))
    def get(self, request: Request) -> Response:
        info = herder_of(request).info(name_of(request))
        return with_warnings(JSONResponse(info_json(info)), info.config)

    @Operation("Delete a connector; its table, topics and position stay", {204: None}, errors=(404, 409))
    def delete(self, request: Request) -> Response:
        herder_of(request).delete(name_of(request))
        info_of(request).active_topics.reset(name_of(request))
        return Response(status_code=204)


class ConnectorConfig(Resource):
    """Configuration of a connector, exactly as it was sent."""

    @Operation("The configuration as it was sent", {200: "Config"}, errors=(404,))
    def get(self, request: Request) -> Response:
        return JSONResponse(dict(herder_of(request).info(name_of(request)).config))

    @Operation(
        "Create a connector or replace its configuration",
        {200: "ConnectorInfo", 201: "ConnectorInfo"},
        errors=(400, 409),
        body="SentConfig",
    )
    def put(self, request: Request, body: Any) -> Response:
        name = name_of(request)
        info, created = herder_of(request).put_config(name, _sent(request, name, body))
        answer = JSONResponse(info_json(info))
        if created:
            answer = JSONResponse(info_json(info), status_code=201, headers=location_of(request, name))
        return with_warnings(answer, info.config)

    @Operation("Change some keys", {200: "ConnectorInfo"}, errors=(400, 404, 409), body="ConfigPatch")
    def patch(self, request: Request, body: Any) -> Response:
        name = name_of(request)
        info = herder_of(request).patch_config(name, _sent(request, name, body))
        return with_warnings(JSONResponse(info_json(info)), info.config)


def _sent(request: Request, name: str, body: Any) -> dict[str, str | None]:
    """The configuration that was sent, with the stored values of masked ones."""
    config = config_map(body, "The request body")
    if not masks(request):
        return config
    try:
        stored = herder_of(request).info(name).config
    except NotFound:
        stored = {}
    return unmasked(config, stored)


class Status(Resource):
    """State of a connector and its tasks."""

    @Operation("State of a connector and of its tasks", {200: "Status"}, errors=(404,))
    def get(self, request: Request) -> Response:
        herder = herder_of(request)
        return JSONResponse(status_json(herder.status(name_of(request))))


class Restart(Resource):
    """Start the connector anew."""

    @Operation(
        "Restart a connector",
        {202: "Status", 204: None},
        errors=(404, 409),
        query={"includeTasks": {**FLAG, "default": False}, "onlyFailed": {**FLAG, "default": False}},
    )
    def post(self, request: Request) -> Response:
        herder = herder_of(request)
        include_tasks, only_failed = flag(request, "includeTasks"), flag(request, "onlyFailed")
        status = herder.restart(name_of(request), include_tasks, only_failed)
        if not include_tasks and not only_failed:
            return Response(status_code=204)
        return JSONResponse(status_json(status), status_code=202)


class Pause(Resource):
    """Pause a connector: it stops reading and keeps its tasks."""

    @Operation("Stop reading and keep the tasks", {202: None}, errors=(404, 409))
    def put(self, request: Request) -> Response:
        herder_of(request).pause(name_of(request))
        return Response(status_code=202)


class Resume(Resource):
    """Resume a connector: it reads again."""

    @Operation("Read again", {202: None}, errors=(404, 409))
    def put(self, request: Request) -> Response:
        herder_of(request).resume(name_of(request))
        return Response(status_code=202)


class Stop(Resource):
    """Stop a connector: it stops reading and gives up its tasks."""

    @Operation("Stop reading and give up the tasks", {204: None}, errors=(404, 409))
    def put(self, request: Request) -> Response:
        herder_of(request).stop(name_of(request))
        return Response(status_code=204)


class Tasks(Resource):
    """Tasks of a connector with their configuration."""

    @Operation("Tasks with their configuration", {200: "Tasks"}, errors=(404,))
    def get(self, request: Request) -> Response:
        name = name_of(request)
        configs = herder_of(request).task_configs(name)
        return JSONResponse(
            [{"id": {"connector": name, "task": number}, "config": config} for number, config in enumerate(configs)]
        )


class TaskState(Resource):
    """State of one task."""

    @Operation("State of a task", {200: "TaskStatus"}, errors=(404,))
    def get(self, request: Request) -> Response:
        herder = herder_of(request)
        number = number_of(request)
        return JSONResponse(task_json(number, herder.task_status(name_of(request), number)))


class TaskRestart(Resource):
    """Start the connector of the task anew."""

    @Operation("Restart a task", {204: None}, errors=(404, 409))
    def post(self, request: Request) -> Response:
        herder, name, number = herder_of(request), name_of(request), number_of(request)
        try:
            stopped = herder.info(name).target_state == "STOPPED"
        except NotFound:
            raise NotFound(f"Unknown connector: {name}") from None
        if stopped:
            raise Rebalancing(NO_LEADER)
        herder.restart_task(name, number)
        return Response(status_code=204)


class Topics(Resource):
    """Topics that the connector has read; none for a connector that does not exist."""

    @Operation("Topics that the connector has read", {200: "Topics"}, errors=(403,))
    def get(self, request: Request) -> Response:
        name = name_of(request)
        return JSONResponse({name: {"topics": _tracked(request).of(name)}})


class TopicsReset(Resource):
    """Forget the topics that the connector has read."""

    @Operation("Forget the topics that the connector has read", {202: None}, errors=(403,))
    def put(self, request: Request) -> Response:
        topics = _tracked(request)
        if not topics.resettable:
            raise HTTPException(403, "Topic tracking reset is disabled.")
        topics.reset(name_of(request))
        return Response(status_code=202)


def _tracked(request: Request) -> ActiveTopics:
    topics = info_of(request).active_topics
    if not topics.enabled:
        raise HTTPException(403, "Topic tracking is disabled.")
    return topics
