"""Connector plugins, their keys, and validation (connect-rest.md 2.5)."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.config.connectors import CONNECTORS, VERSION, config_infos, find_connector
from frazil.config.converters import CONVERTERS, HEADER_CONVERTERS
from frazil.config.framework import FRAMEWORK_GROUPS
from frazil.errors import ConfigError, NotFound
from frazil.worker.rest.body import config_map
from frazil.worker.rest.http import Resource, flag
from frazil.worker.rest.info import CONNECT_VERSION


class Plugins(Resource):
    """Connectors, and with `connectorsOnly=false` the converters too."""

    def get(self, request: Request) -> Response:
        plugins = [{"class": plugin.class_name, "type": plugin.type, "version": VERSION} for plugin in CONNECTORS]
        if not flag(request, "connectorsOnly", default=True):
            for kind, names in (("converter", CONVERTERS), ("header_converter", HEADER_CONVERTERS)):
                plugins += [{"class": name, "type": kind, "version": CONNECT_VERSION} for name in names]
        return JSONResponse(plugins)


class PluginConfig(Resource):
    """Keys of a connector: its own first, then the framework's."""

    def get(self, request: Request) -> Response:
        plugin: str = request.path_params["plugin"]
        try:
            definition = find_connector(plugin).definition({})
        except ConfigError:
            raise NotFound(f"Unknown plugin {plugin}.") from None
        keys = definition.keys.values()
        own = [key for key in keys if key.group not in FRAMEWORK_GROUPS]
        rest = [key for key in keys if key.group in FRAMEWORK_GROUPS]
        return JSONResponse([definition.describe(key) for key in (*own, *rest)])


class Validate(Resource):
    """All keys with their values and errors; 200 even when there are errors."""

    def put(self, request: Request, body: Any) -> Response:
        plugin: str = request.path_params["plugin"]
        config = config_map(body, "The request body")
        name = config.get("connector.class")
        if name is not None and not name.removesuffix("Connector").endswith(plugin.removesuffix("Connector")):
            raise ConfigError(f"Included connector type {name} does not match request type {plugin}")
        return JSONResponse(config_infos(config))
