"""Facts about the worker that the REST API answers with, and the parts of the worker that it uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request

from frazil.connectors.keys.versions import VERSION
from frazil.declare.converters import CONNECT_VERSION
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
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


def info_of(request: Request) -> WorkerInfo:
    """The WorkerInfo of the application."""
    info: WorkerInfo = request.app.state.info
    return info
