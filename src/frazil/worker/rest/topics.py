"""Topics that a connector has read."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.worker.rest.http import Resource
from frazil.worker.rest.info import info_of
from frazil.worker.rest.operation import Operation
from frazil.worker.rest.paths import name_of
from frazil.worker.watch.active_topics import ActiveTopics


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
