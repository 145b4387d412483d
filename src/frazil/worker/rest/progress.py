"""Topics and offsets of a connector (connect-rest.md 2.4)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.config.framework import group_id
from frazil.worker.rest.http import Resource, herder_of
from frazil.worker.rest.info import info_of
from frazil.worker.rest.paths import name_of


class Topics(Resource):
    """Topics that the connector has read; none for a connector that does not exist."""

    def get(self, request: Request) -> Response:
        name = name_of(request)
        return JSONResponse({name: {"topics": info_of(request).active_topics.of(name)}})


class TopicsReset(Resource):
    """Forget these topics."""

    def put(self, request: Request) -> Response:
        info_of(request).active_topics.reset(name_of(request))
        return Response(status_code=202)


class Offsets(Resource):
    """Next offsets, from the consumer group."""

    def get(self, request: Request) -> Response:
        name = name_of(request)
        config = herder_of(request).info(name).config
        offsets = info_of(request).group_offsets(group_id(name, config))
        return JSONResponse(
            {
                "offsets": [
                    {
                        "partition": {"kafka_topic": topic, "kafka_partition": partition},
                        "offset": {"kafka_offset": offset},
                    }
                    for (topic, partition), offset in sorted(offsets.items())
                ]
            }
        )
