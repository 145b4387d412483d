"""What the REST API tells about the worker and takes from other parts of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request

from frazil.config.connectors import VERSION
from frazil.worker.topics import ActiveTopics

CONNECT_VERSION = "4.3.1"
"""The version of Kafka Connect whose routes and shapes are served; clients unlock features by it."""


@dataclass(frozen=True)
class WorkerInfo:
    """`group_offsets` gives the committed next offset by (topic, partition) of a consumer group."""

    kafka_cluster_id: str
    group_offsets: Callable[[str], Mapping[tuple[str, int], int]]
    active_topics: ActiveTopics
    version: str = CONNECT_VERSION
    commit: str = f"frazil-{VERSION}"


def info_of(request: Request) -> WorkerInfo:
    """The WorkerInfo of the application."""
    info: WorkerInfo = request.app.state.info
    return info
