"""A thin client of the Kafka Connect REST API (connect-rest.md)."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx

from frazil.errors import ConfigError, FrazilError, NotFound, ServiceUnavailable, TerminalError

_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
# Connect answers 409 while it rebalances, and 5xx when a worker could not finish; the same call may succeed later.
_RETRY_LATER = 409


class ConnectClient:
    """Calls one worker; use it as a context manager so that its connections are closed.

    Every method raises ServiceUnavailable when the worker does not answer (30 s), rebalances or fails, NotFound for
    an unknown connector, ConfigError for a configuration that it refuses, and TerminalError for any other refusal;
    messages carry the worker's own text.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._http = httpx.Client(base_url=self._url, timeout=_TIMEOUT)

    def __enter__(self) -> ConnectClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def health(self) -> dict[str, Any]:
        """The worker's health document; raises ServiceUnavailable when it is not healthy."""
        return self._object("GET", "/health")

    def connectors(self) -> list[str]:
        """Names of all connectors, sorted."""
        names = self._json("GET", "/connectors")
        if not isinstance(names, list):
            raise self._not_connect("GET", "/connectors")
        return sorted(str(name) for name in names)

    def status(self, name: str) -> dict[str, Any]:
        """State of a connector and of its tasks."""
        return self._object("GET", f"{_path(name)}/status")

    def put_config(self, name: str, config: Mapping[str, str]) -> bool:
        """Create a connector or replace its configuration; True when it was created."""
        response = self._call("PUT", f"{_path(name)}/config", dict(config))
        return response.status_code == httpx.codes.CREATED

    def config(self, name: str) -> dict[str, str]:
        """The configuration of a connector as it was sent."""
        return {key: str(value) for key, value in self._object("GET", f"{_path(name)}/config").items()}

    def restart(self, name: str) -> None:
        """Restart a connector and its tasks."""
        self._call("POST", f"{_path(name)}/restart?includeTasks=true")

    def delete(self, name: str) -> None:
        """Delete a connector; its table and topic stay."""
        self._call("DELETE", _path(name))

    def _object(self, method: str, path: str) -> dict[str, Any]:
        body = self._json(method, path)
        if not isinstance(body, dict):
            raise self._not_connect(method, path)
        return body

    def _json(self, method: str, path: str) -> object:
        try:
            return self._call(method, path).json()
        except ValueError:
            raise self._not_connect(method, path) from None

    def _not_connect(self, method: str, path: str) -> TerminalError:
        return TerminalError(
            f"{method} {self._url}{path}: the answer is not that of a Kafka Connect worker; check KAFKA_CONNECT_URL"
        )

    def _call(self, method: str, path: str, body: Mapping[str, str] | None = None) -> httpx.Response:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise ServiceUnavailable(
                f"the worker at {self._url} does not answer {method} {path} ({type(error).__name__}); "
                "start it with `start`, or correct KAFKA_CONNECT_URL"
            ) from error
        if response.is_success:
            return response
        raise self._failure(response, f"{method} {self._url}{path}: {response.status_code} {_message(response)}")

    def _failure(self, response: httpx.Response, text: str) -> FrazilError:
        if response.status_code == httpx.codes.NOT_FOUND:
            return NotFound(text)
        if response.status_code in (httpx.codes.BAD_REQUEST, httpx.codes.UNPROCESSABLE_ENTITY):
            return ConfigError(text)
        if response.is_server_error or response.status_code == _RETRY_LATER:
            return ServiceUnavailable(text)
        return TerminalError(text)


def _path(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}"


def _message(response: httpx.Response) -> str:
    """The `message` of Connect's error body, else the start of the body."""
    try:
        body = response.json()
    except ValueError:
        return response.text[:500]
    return str(body.get("message", body)) if isinstance(body, dict) else str(body)[:500]
