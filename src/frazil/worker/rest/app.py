"""The Kafka Connect REST API as an ASGI application."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.connectors import Connector, ConnectorConfig, Connectors, Pause, Restart, Resume, Status, Stop
from frazil.worker.rest.dispatch import Dispatcher
from frazil.worker.rest.error import ERROR_HANDLERS
from frazil.worker.rest.forward import Forwarder
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.rest.loggers import AllLoggers, OneLogger
from frazil.worker.rest.offsets import Offsets
from frazil.worker.rest.openapi import OpenApi
from frazil.worker.rest.paths import PathSegments
from frazil.worker.rest.plugins import PluginConfig, Plugins, Validate
from frazil.worker.rest.root import Health, Root
from frazil.worker.rest.security.policy import RestPolicy
from frazil.worker.rest.sources import Sources
from frazil.worker.rest.tasks import TaskRestart, Tasks, TaskState
from frazil.worker.rest.topics import Topics, TopicsReset
from frazil.worker.sources.runtime import SourceRuntime

ADMIN_ROUTES = [
    Route("/admin/loggers", AllLoggers),
    Route("/admin/loggers/{logger}", OneLogger),
]
"""Routes that `admin.listeners` may move to an address of their own."""

PUBLIC_ROUTES = [
    Route("/", Root),
    Route("/health", Health),
    Route("/connectors", Connectors),
    Route("/connectors/{name}", Connector),
    Route("/connectors/{name}/config", ConnectorConfig),
    Route("/connectors/{name}/status", Status),
    Route("/connectors/{name}/restart", Restart),
    Route("/connectors/{name}/pause", Pause),
    Route("/connectors/{name}/resume", Resume),
    Route("/connectors/{name}/stop", Stop),
    Route("/connectors/{name}/tasks", Tasks),
    Route("/connectors/{name}/tasks/{task}/status", TaskState),
    Route("/connectors/{name}/tasks/{task}/restart", TaskRestart),
    Route("/connectors/{name}/topics", Topics),
    Route("/connectors/{name}/topics/reset", TopicsReset),
    Route("/connectors/{name}/offsets", Offsets),
    Route("/connector-plugins", Plugins),
    Route("/connector-plugins/{plugin}/config", PluginConfig),
    Route("/connector-plugins/{plugin}/config/validate", Validate),
    Route("/openapi.json", OpenApi),
]
ROUTES = [*PUBLIC_ROUTES, *ADMIN_ROUTES]


def rest_app(
    herder: Herder,
    info: WorkerInfo,
    policy: RestPolicy | None = None,
    routes: Sequence[Route] = ROUTES,
    sources: SourceRuntime | None = None,
    forwarder: Forwarder | None = None,
    *,
    masks: bool = False,
    home: str = "",
) -> Starlette:
    """The REST API over a herder; `routes` are those of a listener that does not serve all of them, `sources` is
    where connectors run that are not this worker's own; a worker of a group has a `forwarder`; `masks` hides secrets in
    answers, `home` is where a browser is led from the root."""
    app = Starlette(
        routes=routes,
        middleware=[*(policy or RestPolicy()).middleware(), Middleware(PathSegments)],
        exception_handlers=ERROR_HANDLERS,
    )
    app.router.redirect_slashes = False
    app.state.herder = herder
    app.state.info = info
    app.state.masks = masks
    app.state.home = home
    app.state.sources = None if sources is None else Sources(sources, herder, forwarder)
    app.state.dispatcher = Dispatcher(forwarder, app.state.sources)
    return app
