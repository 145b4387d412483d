"""Tasks of a connector."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.errors import NotFound, Rebalancing
from frazil.worker.rest.http import Resource, herder_of, number_of
from frazil.worker.rest.operation import Operation
from frazil.worker.rest.paths import name_of
from frazil.worker.rest.shapes import task_json
from frazil.worker.storage.configs import NO_LEADER


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
        return JSONResponse(task_json(herder.task_status(name_of(request), number_of(request))))


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
