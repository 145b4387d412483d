"""Connector plugins, their keys, and validation."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.connectors.keys.framework import FRAMEWORK_GROUPS
from frazil.connectors.keys.versions import check_version
from frazil.connectors.registry import config_infos, find_connector
from frazil.connectors.registry import plugins as connector_plugins
from frazil.declare.converters import (
    CONNECT_VERSION,
    CONVERTERS,
    HEADER_CONVERTERS,
    converter_class,
    converter_definition,
)
from frazil.declare.definition import ConfigDef
from frazil.errors import ConfigError, NotFound
from frazil.worker.rest.body import config_map
from frazil.worker.rest.http import Operation, Resource, flag, herder_of, with_warnings
from frazil.worker.rest.schemas import FLAG, TEXT
from frazil.worker.rest.sources import sources_of


class Plugins(Resource):
    """Connectors, and with `connectorsOnly=false` the converters too."""

    @Operation("Plugins of the worker", {200: "Plugins"}, query={"connectorsOnly": {**FLAG, "default": True}})
    def get(self, request: Request) -> Response:
        plugins = [_entry(plugin.class_name, plugin.type, plugin.version) for plugin in connector_plugins()]
        if not flag(request, "connectorsOnly", default=True):
            for kind, names in (("converter", CONVERTERS), ("header_converter", HEADER_CONVERTERS)):
                plugins += [_entry(name, kind, CONNECT_VERSION) for name in names]
        sources = sources_of(request)
        if sources is not None:
            plugins += [_entry(plugin.class_name, plugin.type, plugin.version) for plugin in sources.plugins()]
        return JSONResponse(plugins)


def _entry(class_name: str, kind: str, version: str | None) -> dict[str, str | None]:
    return {"class": class_name, "type": kind, "version": version}


class PluginConfig(Resource):
    """Keys of a connector or converter: its own first, then the framework's."""

    @Operation("Keys of a plugin", {200: "Keys"}, errors=(400, 404), query={"version": {**TEXT, "default": "latest"}})
    def get(self, request: Request) -> Response:
        plugin: str = request.path_params["plugin"]
        class_name, version, definition = _plugin(plugin)
        check_version(class_name, request.query_params.get("version", "latest"), version)
        keys = definition.keys.values()
        own = [key for key in keys if key.group not in FRAMEWORK_GROUPS]
        rest = [key for key in keys if key.group in FRAMEWORK_GROUPS]
        return JSONResponse([definition.describe(key) for key in (*own, *rest)])


def _plugin(name: str) -> tuple[str, str, ConfigDef]:
    """Class name, version and keys; raises NotFound with Connect's text."""
    converter = converter_class(name)
    if converter in CONVERTERS or converter in HEADER_CONVERTERS:
        return converter, CONNECT_VERSION, converter_definition(converter)
    try:
        connector = find_connector(name)
    except ConfigError:
        raise NotFound(f"Unknown plugin {name}.") from None
    return connector.class_name, connector.version, connector.definition({})


class Validate(Resource):
    """All keys with their values and errors; 200 even when there are errors."""

    @Operation("Check a configuration", {200: "Validation"}, errors=(400,), body="ConfigPatch")
    def put(self, request: Request, body: Any) -> Response:
        plugin: str = request.path_params["plugin"]
        config = config_map(body, "The request body")
        name = config.get("connector.class")
        if name is not None and not name.removesuffix("Connector").endswith(plugin.removesuffix("Connector")):
            raise ConfigError(f"Included connector type {name} does not match request type {plugin}")
        herder = herder_of(request)
        answer = JSONResponse(config_infos(config, herder.settings, herder.obstacles))
        return with_warnings(answer, {key: value for key, value in config.items() if value is not None})
