"""The Kafka Connect REST API as an ASGI application, and its servers on the listeners of the worker."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from frazil.environment.listeners import Listener, parse_listeners
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.connectors import (
    Connector,
    ConnectorConfig,
    Connectors,
    Pause,
    Restart,
    Resume,
    Status,
    Stop,
    TaskRestart,
    Tasks,
    TaskState,
    Topics,
    TopicsReset,
)
from frazil.worker.rest.dispatch import Dispatcher
from frazil.worker.rest.error import ERROR_HANDLERS
from frazil.worker.rest.forward import Forwarder
from frazil.worker.rest.info import AllLoggers, Events, Health, OneLogger, Root, WorkerInfo
from frazil.worker.rest.masking import MASK
from frazil.worker.rest.offsets import Offsets
from frazil.worker.rest.openapi import OpenApi
from frazil.worker.rest.paths import PathSegments
from frazil.worker.rest.plugins import PluginConfig, Plugins, Validate
from frazil.worker.rest.security.hosts import allowed_hosts
from frazil.worker.rest.security.policy import RestPolicy
from frazil.worker.rest.security.tls import server_context
from frazil.worker.rest.sources import Sources
from frazil.worker.server import Server, serve
from frazil.worker.sources.runtime import SourceRuntime

ADMIN_ROUTES = [
    Route("/admin/loggers", AllLoggers),
    Route("/admin/loggers/{logger}", OneLogger),
    Route("/admin/events", Events),
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
        middleware=[*(policy or RestPolicy()).middleware(info.events), Middleware(PathSegments)],
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


logger = logging.getLogger(__name__)

ADMIN = "admin.listeners"


def serve_rest(
    herder: Herder,
    info: WorkerInfo,
    listeners: Sequence[Listener],
    properties: Mapping[str, str],
    env: Mapping[str, str],
    sources: SourceRuntime | None = None,
    forwarder: Forwarder | None = None,
    beside: Sequence[Route] = (),
    home: str = "",
) -> list[Server]:
    """Start a server on every listener; `properties` are the worker's keys.

    `beside` are routes that are no part of the API; a browser that asks for its root is led to `home`, if that is
    given. `admin.listeners` moves `/admin/loggers` to addresses of its own; empty, it is served nowhere. Raises
    ConfigError, PortTaken or StackError; no server is left then.
    """
    policy = RestPolicy.load(properties, env)
    masks = properties.get(MASK, "").strip().lower() == "true"
    admin = properties.get(ADMIN)
    wanted: list[tuple[Listener, list[Route], str]] = [
        (listener, [*(ROUTES if admin is None else PUBLIC_ROUTES), *beside], "listeners.https.")
        for listener in listeners
    ]
    if admin is not None and admin.strip():
        wanted += [(listener, ADMIN_ROUTES, f"{ADMIN}.https.") for listener in parse_listeners(admin, ADMIN)]
    servers: list[Server] = []
    try:
        for listener, routes, prefix in wanted:
            if policy.users is None and not listener.is_local:
                logger.warning(
                    "%s is open to the network and asks for no user: whoever reaches it can read and change connectors "
                    "with their credentials; set frazil.rest.users.file, or listen on 127.0.0.1",
                    listener.url,
                )
            tls = server_context(properties, prefix) if listener.scheme == "https" else None
            own = replace(policy, hosts=allowed_hosts(listener, properties))
            app = rest_app(herder, info, own, routes, sources, forwarder, masks=masks, home=home)
            servers.append(serve(app, listener.bind, listener.port, "KAFKA_CONNECT_PORT", tls))
    except BaseException:
        for server in servers:
            server.stop()
        raise
    return servers
