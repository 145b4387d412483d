"""Tasks of a connector (connect-rest.md 2.3)."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.errors import NotFound
from frazil.worker.rest.http import Resource, herder_of, number_of
from frazil.worker.rest.operation import operation
from frazil.worker.rest.paths import name_of
from frazil.worker.rest.shapes import task_json


class Tasks(Resource):
    """Tasks with their configuration."""

    @operation("Tasks with their configuration", {200: "Tasks"}, errors=(404,))
    def get(self, request: Request) -> Response:
        name = name_of(request)
        configs = herder_of(request).task_configs(name)
        return JSONResponse(
            [{"id": {"connector": name, "task": number}, "config": config} for number, config in enumerate(configs)]
        )


class TaskState(Resource):
    """State of one task."""

    @operation("State of a task", {200: "TaskStatus"}, errors=(404,))
    def get(self, request: Request) -> Response:
        herder = herder_of(request)
        return JSONResponse(task_json(herder.task_status(name_of(request), number_of(request))))


class TaskRestart(Resource):
    """Start the connector of the task anew."""

    @operation("Restart a task", {204: None}, errors=(404, 409), place="owner")
    def post(self, request: Request) -> Response:
        herder, name, number = herder_of(request), name_of(request), number_of(request)
        try:
            stopped = herder.info(name).target_state == "STOPPED"
        except NotFound:
            raise NotFound(f"Unknown connector: {name}") from None
        if stopped:
            raise HTTPException(
                409,
                "Cannot complete request momentarily due to no known leader URL, "
                "likely because a rebalance was underway.",
            )
        herder.restart_task(name, number)
        return Response(status_code=204)
