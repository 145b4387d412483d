"""Serves the REST API on the worker's listeners, and its admin routes on others where the worker says so."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.routing import Route

from frazil.environment.listeners import Listener, parse_listeners
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.app import ADMIN_ROUTES, PUBLIC_ROUTES, ROUTES, rest_app
from frazil.worker.rest.forward import Forwarder
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.rest.masking import MASK
from frazil.worker.rest.security.hosts import allowed_hosts
from frazil.worker.rest.security.policy import RestPolicy
from frazil.worker.rest.security.tls import server_context
from frazil.worker.server import Server, serve
from frazil.worker.sources.runtime import SourceRuntime

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
