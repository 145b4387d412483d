"""A thin client of the Kafka Connect REST API."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx

from frazil.environment.access import ConnectAccess
from frazil.errors import (
    AlreadyExists,
    ConfigError,
    FrazilError,
    NotFound,
    ServiceUnavailable,
    StackUnavailable,
    TerminalError,
)
from frazil.text.near import nearest
from frazil.text.quoting import segment

if TYPE_CHECKING:
    from prometheus_client import Metric

_TIMEOUT = httpx.Timeout(95.0, connect=5.0)
"""A worker ends a request itself after 90 s."""
_STARTING_S, _AGAIN_S = 90.0, 0.5
_EXISTS = "already exists"
_LIKE_PLUGINS = 0.8
"""More than of other names: many end in the same word."""


class ConnectClient:
    """Calls one worker; use it as a context manager so that its connections are closed.

    Every method raises ServiceUnavailable when the worker does not answer (95 s), rebalances or fails, NotFound for
    an unknown connector, ConfigError for a configuration that it refuses, and TerminalError for any other refusal;
    messages carry the worker's own text.
    """

    def __init__(self, access: ConnectAccess | str, say: Callable[[str], None] | None = None) -> None:
        """With `say`, which is told once, calls wait up to 90 s for a worker that is starting."""
        self._say, self._told = say, False
        self._access = access if isinstance(access, ConnectAccess) else ConnectAccess(access.rstrip("/"))
        self._url = self._access.url
        auth = (self._access.user, self._access.password) if self._access.user else None
        self._http = httpx.Client(base_url=self._url, timeout=_TIMEOUT, auth=auth, verify=_verify(self._access))

    @property
    def url(self) -> str:
        """Address of the worker."""
        return self._url

    def __enter__(self) -> ConnectClient:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def root(self) -> dict[str, Any]:
        """Version of the API, build, and id of the Kafka cluster."""
        return self._object("GET", "/")

    def connectors(self) -> list[str]:
        """Names of all connectors, sorted."""
        return sorted(str(name) for name in self._list("GET", "/connectors"))

    def expanded(self) -> dict[str, dict[str, Any]]:
        """Every connector with its `info` and `status`, by name."""
        return self._object("GET", "/connectors?expand=info&expand=status")

    def info(self, name: str) -> dict[str, Any]:
        """Name, configuration, tasks and type of a connector."""
        return self._object("GET", _path(name))

    def status(self, name: str) -> dict[str, Any]:
        """State of a connector and of its tasks."""
        return self._object("GET", f"{_path(name)}/status")

    def topics(self, name: str) -> list[str]:
        """Topics that a connector has read or written; raises TerminalError when the worker does not track them."""
        answer = self._object("GET", f"{_path(name)}/topics")
        return [str(topic) for topic in answer.get(name, {}).get("topics", [])]

    def create(self, name: str, config: Mapping[str, str], initial_state: str) -> None:
        """Create a connector as RUNNING, PAUSED or STOPPED; raises AlreadyExists when there is one of that name."""
        self._call("POST", "/connectors", {"name": name, "config": dict(config), "initial_state": initial_state})

    def put_config(self, name: str, config: Mapping[str, str]) -> bool:
        """Create a connector or replace its configuration; True when it was created."""
        response = self._call("PUT", f"{_path(name)}/config", dict(config))
        return response.status_code == httpx.codes.CREATED

    def patch_config(self, name: str, patch: Mapping[str, str | None]) -> None:
        """Change some keys of a configuration; None removes a key."""
        self._call("PATCH", f"{_path(name)}/config", dict(patch))

    def config(self, name: str) -> dict[str, str]:
        """The configuration of a connector as it was sent."""
        return {key: str(value) for key, value in self._object("GET", f"{_path(name)}/config").items()}

    def metrics(self) -> Sequence[Metric]:
        """The metrics of the worker; none of a worker that has none here, as Kafka Connect's."""
        from prometheus_client.parser import text_string_to_metric_families

        try:
            return list(text_string_to_metric_families(self._call("GET", "/metrics").text))
        except NotFound:
            return ()

    def pause(self, name: str) -> None:
        """Stop reading and keep the tasks."""
        self._call("PUT", f"{_path(name)}/pause")

    def resume(self, name: str) -> None:
        """Read again."""
        self._call("PUT", f"{_path(name)}/resume")

    def stop(self, name: str) -> None:
        """Stop reading and give up the tasks, so that the position can be moved."""
        self._call("PUT", f"{_path(name)}/stop")

    def restart(self, name: str, *, only_failed: bool = False) -> bool:
        """Restart a connector with its tasks; with `only_failed` only what has failed. False when nothing has."""
        status = self._object("POST", f"{_path(name)}/restart?includeTasks=true&onlyFailed={str(only_failed).lower()}")
        return any(part.get("state") == "RESTARTING" for part in (status["connector"], *status["tasks"]))

    def restart_task(self, name: str, task: int) -> None:
        """Restart one task."""
        self._call("POST", f"{_path(name)}/tasks/{task}/restart")

    def delete(self, name: str) -> None:
        """Delete a connector; its table and topic stay."""
        self._call("DELETE", _path(name))

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """Next offsets, each an object with `partition` and `offset`."""
        answer = self._object("GET", f"{_path(name)}/offsets").get("offsets")
        if not isinstance(answer, list):
            raise self._not_connect("GET", f"{_path(name)}/offsets")
        return answer

    def set_offsets(self, name: str, offsets: Iterable[Mapping[str, Any]]) -> str:
        """Move the position of a STOPPED connector; what the worker says about it."""
        answer = self._object("PATCH", f"{_path(name)}/offsets", {"offsets": [dict(entry) for entry in offsets]})
        return str(answer.get("message", ""))

    def reset_offsets(self, name: str) -> str:
        """Forget the position of a STOPPED connector; what the worker says about it."""
        return str(self._object("DELETE", f"{_path(name)}/offsets").get("message", ""))

    def plugins(self, connectors_only: bool = True) -> list[dict[str, Any]]:
        """Plugins of the worker: class, type and version."""
        return self._list("GET", f"/connector-plugins?connectorsOnly={str(connectors_only).lower()}")

    def plugin_keys(self, plugin: str) -> list[dict[str, Any]]:
        """Keys of a plugin; raises NotFound for one that the worker does not have."""
        return self._list("GET", f"/connector-plugins/{segment(plugin)}/config")

    def validate(self, config: Mapping[str, str]) -> list[str]:
        """Errors that the worker finds in a configuration, each with its key; none when it would take it."""
        plugin = segment(config.get("connector.class", ""))
        if not plugin:
            return ["connector.class: is missing"]
        answer = self._object("PUT", f"/connector-plugins/{plugin}/config/validate", dict(config))
        values = [entry.get("value", {}) for entry in answer.get("configs", [])]
        found = [(str(value.get("name")), str(error)) for value in values for error in value.get("errors", [])]
        return [error if error.startswith(name) else f"{name}: {error}" for name, error in found]

    def events(self, connector: str | None, count: int) -> list[dict[str, Any]]:
        """Events of the worker, of one connector or of all, the newest first."""
        query = f"&connector={segment(connector)}" if connector else ""
        return self._list("GET", f"/admin/events?limit={count}{query}")

    def loggers(self) -> dict[str, dict[str, Any]]:
        """Level and time of the last change of every logger, by name."""
        return self._object("GET", "/admin/loggers")

    def set_logger(self, name: str, level: str, scope: str) -> list[str]:
        """Set a logger and those below it, of this worker or the cluster; the names of those that changed.

        With scope `cluster` a worker does not tell names.
        """
        path = f"/admin/loggers/{segment(name)}?scope={scope}"
        response = self._call("PUT", path, {"level": level})
        return [] if response.status_code == httpx.codes.NO_CONTENT else [str(name) for name in response.json()]

    def _object(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        answer = self._json(method, path, body)
        if not isinstance(answer, dict):
            raise self._not_connect(method, path)
        return answer

    def _list(self, method: str, path: str) -> list[Any]:
        answer = self._json(method, path)
        if not isinstance(answer, list):
            raise self._not_connect(method, path)
        return answer

    def _json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> object:
        try:
            return self._call(method, path, body).json()
        except ValueError:
            raise self._not_connect(method, path) from None

    def _not_connect(self, method: str, path: str) -> TerminalError:
        return TerminalError(
            f"{method} {self._url}{path}: the answer is not that of a Kafka Connect worker; check {self._access.source}"
        )

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        try:
            response = self._answer(method, path, body)
        except httpx.HTTPError as error:
            kind = StackUnavailable if self._access.embedded else ServiceUnavailable
            raise kind(
                f"the worker at {self._url} does not answer {method} {path} ({_reason(error)}); "
                f"{_next_step(self._access, str(error))}"
            ) from error
        if response.is_success:
            return response
        text = f"{method} {self._url}{path}: {response.status_code} {_message(response)}"
        if response.status_code == httpx.codes.NOT_FOUND:
            if path.startswith("/connectors/"):
                text = f"{_message(response)} (404 of {self._url})"
            meant = self._meant(path)
            text = f"{text.rstrip('.')}; did you mean {meant}?" if meant else text
        raise self._failure(response, text)

    def _answer(self, method: str, path: str, body: Mapping[str, Any] | None) -> httpx.Response:
        """The answer of the worker; 503, as while it starts, means that nothing was done."""
        deadline = time.monotonic() + _STARTING_S
        while True:
            response = self._http.request(method, path, json=body)
            is_starting = response.status_code == httpx.codes.SERVICE_UNAVAILABLE
            if not is_starting or self._say is None or time.monotonic() >= deadline:
                return response
            if not self._told:
                self._say(f"waiting for the worker at {self._url}: {_message(response)}")
                self._told = True
            time.sleep(_AGAIN_S)

    def _meant(self, path: str) -> str:
        """The connector or plugin that was probably meant by a path; empty when none is near."""
        kind, _, rest = path[1:].partition("/")
        name = unquote(rest.partition("/")[0].partition("?")[0])
        if not name or kind not in ("connectors", "connector-plugins"):
            return ""
        if kind == "connectors":
            known = self.connectors()
            return "" if name in known else nearest(name, known)
        return nearest(_simple(name), [_simple(one["class"]) for one in self.plugins(False)], _LIKE_PLUGINS)

    def _failure(self, response: httpx.Response, text: str) -> FrazilError:
        if response.status_code == httpx.codes.NOT_FOUND:
            return NotFound(text)
        if response.status_code in (httpx.codes.BAD_REQUEST, httpx.codes.UNPROCESSABLE_ENTITY):
            return ConfigError(text)
        if response.status_code == httpx.codes.UNAUTHORIZED:
            given = f"user {self._access.user} was refused" if self._access.user else "it asks for a user"
            where = self._access.source if self._access.of_context else "KAFKA_CONNECT_USER and KAFKA_CONNECT_PASSWORD"
            return TerminalError(f"{text.rstrip('.')}. Nothing was changed: {given}; correct {where}.")
        if response.status_code == httpx.codes.CONFLICT and text.endswith(_EXISTS):
            return AlreadyExists(text)
        # Connect answers 409 while it rebalances, 5xx when a worker could not finish; the same call may succeed later.
        if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            text = f"{text.rstrip('.')}. Nothing was changed; `status` shows when it runs, then try again"
        if response.is_server_error or response.status_code == httpx.codes.CONFLICT:
            return ServiceUnavailable(text)
        return TerminalError(text)


def _path(name: str) -> str:
    return f"/connectors/{segment(name)}"


def _simple(plugin: str) -> str:
    return plugin.rpartition(".")[2]


def _verify(access: ConnectAccess) -> ssl.SSLContext | bool:
    if not access.url.startswith("https://") or not (access.ca_file or access.cert_file):
        return True
    try:
        context = ssl.create_default_context(cafile=access.ca_file)
        if access.cert_file:
            context.load_cert_chain(access.cert_file, access.key_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"{access.source}: the certificates cannot be used: {error}") from None
    return context


def _next_step(access: ConnectAccess, told: str) -> str:
    """Tell what to correct: the certificate that is missing where TLS says so, else the address."""
    if "CERTIFICATE_VERIFY_FAILED" in told:
        what = "--ca-file of " + access.source if access.of_context else "KAFKA_CONNECT_CA_FILE"
        return f"name a PEM file with the certificate of its issuer with {what}"
    if "CERTIFICATE_REQUIRED" in told:
        what = "--cert-file of " + access.source if access.of_context else "KAFKA_CONNECT_CERT_FILE"
        return f"it asks for a certificate of the client: name it with {what}"
    return "start it with `start`" if access.embedded else f"look whether it runs, or correct {access.source}"


def _reason(error: httpx.HTTPError) -> str:
    """The kind of a failure; what TLS does not accept is told, since the address is not the cause."""
    return str(error) if "CERTIFICATE" in str(error) or "SSL" in str(error) else type(error).__name__


def _message(response: httpx.Response) -> str:
    """The `message` of Connect's error body, else the start of the body."""
    try:
        body = response.json()
    except ValueError:
        return response.text[:500]
    return str(body.get("message", body)) if isinstance(body, dict) else str(body)[:500]
