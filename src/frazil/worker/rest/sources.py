"""Source connectors at the REST API: a worker asks their runtime itself, or the leader of its group, which has it.

Names are shared with the connectors of the workers: a name is given once.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx
from starlette.requests import Request
from starlette.responses import Response

from frazil.connectors.debezium_keys import check_debezium, with_cures
from frazil.connectors.registry import find_connector
from frazil.errors import ConfigError, FrazilError, ServiceUnavailable
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.forward import Forwarder, sent_to
from frazil.worker.rest.http import with_warnings
from frazil.worker.rest.masking import unmasked
from frazil.worker.rest.paths import name_of, sent_path
from frazil.worker.sources.plugin_path import Plugin
from frazil.worker.sources.runtime import SourceRuntime

_SENT = ("accept", "content-type")
_KEPT = ("content-type", "location")
_ONE = "/connectors/{name}"


class Sources:
    """Connectors and plugins of the runtime.

    `take`, `has` and `has_plugin` return true when a request is the runtime's; it is up then, or the leader is to be
    asked. They raise StackError or ServiceUnavailable when it does not run.
    """

    def __init__(self, runtime: SourceRuntime, herder: Herder, forwarder: Forwarder | None = None) -> None:
        self._runtime = runtime
        self._herder = herder
        self._forwarder = forwarder

    @property
    def here(self) -> bool:
        """Whether this worker asks the runtime itself."""
        return self._runtime.here

    def take(self, name: str, config: Any, clash: FrazilError) -> bool:
        """Whether a configuration is the runtime's; raises `clash` when the other side has a connector of the name."""
        foreign = self._is_foreign(str(config.get("connector.class", "")) if isinstance(config, dict) else "")
        if self.here:
            if name in (self._herder.connectors() if foreign else self._runtime.connectors()):
                raise clash
            if foreign:
                check_debezium(config)
                self._runtime.ensure(str(config.get("connector.class")))
        return foreign

    def has(self, name: str, request: Request) -> bool:
        """Whether a connector is the runtime's; a follower leaves every name that it does not know to the leader."""
        if name in self._herder.connectors():
            return False
        if not self.here:
            return self._runtime.possible and sent_to(request) is None
        if name not in self._runtime.connectors():
            return False
        self._runtime.require()
        return True

    def has_plugin(self, name: str) -> bool:
        """Whether a connector class or its alias is the runtime's."""
        foreign = self._is_foreign(name)
        if foreign and self.here:
            self._runtime.ensure(name)
        return foreign

    def connectors(self, request: Request) -> dict[str, Any]:
        """All connectors of the runtime with `info` and `status` by name; while nobody tells, those that were told
        last, as UNASSIGNED."""
        if self.here or self._forwarder is None:
            return self._beside_own(self._runtime.connectors())
        if not self._runtime.possible:
            return {}
        told = self._forwarder.all_of_leader(request)
        if told is None:
            return self._beside_own(self._runtime.seen())
        theirs = self._beside_own(told)
        self._runtime.saw(theirs)
        return theirs

    def plugins(self) -> list[Plugin]:
        """Connector classes of the runtime that are not this worker's own."""
        return [plugin for plugin in self._runtime.plugins() if not _is_own(plugin.class_name)]

    def relay(self, request: Request, content: bytes) -> Response:
        """The answer of the runtime; the address of a new connector is that of this worker."""
        query: bytes = request.scope["query_string"]
        target = sent_path(request.scope).decode("latin-1") + (f"?{query.decode('latin-1')}" if query else "")
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        if request.app.state.masks and content:
            content = self._unmasked(request, content)
        answer = self._runtime.call(request.method, target, content or None, headers)
        if request.method == "DELETE" and request.scope["route"].path == _ONE and answer.is_success:
            self._runtime.forget(name_of(request))
        kept = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
        if "location" in kept:
            path = httpx.URL(kept["location"]).raw_path.decode("ascii")
            kept["location"] = f"{request.url.scheme}://{request.url.netloc}{path}"
        response = Response(_with_cures(answer), answer.status_code, kept)
        sent = _configuration(request, content)
        return with_warnings(response, sent) if answer.is_success and sent else response

    def _unmasked(self, request: Request, content: bytes) -> bytes:
        """The body with the stored values of a configuration that was sent back with masks.

        Raises ServiceUnavailable when the runtime does not tell what is stored, as while it rebalances.
        """
        document = json.loads(content)
        if not isinstance(document, dict):
            return content
        if "name" not in request.path_params:
            if isinstance(config := document.get("config"), dict):
                unmasked(config, {})  # nothing is stored yet
            return content
        answer = self._runtime.call("GET", f"/connectors/{quote(name_of(request), safe='')}/config")
        if not answer.is_success and answer.status_code != httpx.codes.NOT_FOUND:
            raise ServiceUnavailable(
                f"the Kafka Connect runtime does not tell what is stored ({answer.status_code}). Nothing was changed; "
                "try again in a moment"
            )
        return json.dumps(unmasked(document, answer.json() if answer.is_success else {})).encode()

    def _beside_own(self, found: Mapping[str, Any]) -> dict[str, Any]:
        own = self._herder.connectors()
        return {name: entry for name, entry in found.items() if name not in own}

    def _is_foreign(self, class_name: str) -> bool:
        return (
            bool(class_name)
            and not _is_own(class_name)
            and any(plugin.is_called(class_name) for plugin in self.plugins())
        )


def _configuration(request: Request, content: bytes) -> dict[str, str]:
    """The configuration that a request brings; empty when it brings none."""
    if request.method not in ("POST", "PUT") or not content:
        return {}
    document = json.loads(content)
    config = document.get("config", document) if isinstance(document, dict) else {}
    return {key: str(value) for key, value in config.items()} if "connector.class" in config else {}


def _with_cures(answer: httpx.Response) -> bytes:
    """The body of an answer; see `with_cures`."""
    if not answer.is_success or b'"trace"' not in answer.content:
        return answer.content
    return json.dumps(with_cures(answer.json())).encode()


def sources_of(request: Request) -> Sources | None:
    """The Sources of the application; None for a worker without a runtime."""
    sources: Sources | None = request.app.state.sources
    return sources


def _is_own(class_name: str) -> bool:
    try:
        find_connector(class_name)
    except ConfigError:
        return False
    return True
