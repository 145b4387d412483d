"""A thin client of a schema registry's REST API: Confluent's, which most serve, or Apicurio's own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import httpx

from frazil.clients.answers import whole_answer
from frazil.clients.calls import timed
from frazil.clients.registry.access import RegistryAccess
from frazil.clients.registry.oauth import Tokens
from frazil.clients.registry.schema import Registered, SchemaId, SchemaType
from frazil.errors import ConfigError, NotFound, ServiceUnavailable, TerminalError

_UNKNOWN_S = 10.0
"""Seconds for which an id that the registry does not know is not asked for again."""
_MOST_REFERENCES = 1000
_PASSING = (httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS)


@lru_cache(maxsize=64)
def registry_client(access: RegistryAccess) -> RegistryClient:
    """Give the client of a registry, with the schemas that this process knows already."""
    return RegistryClient(access)


class RegistryClient:
    """Reads schemas, each once; safe for several threads.

    Every method raises ServiceUnavailable when no address answers, or the registry fails or refuses the login,
    ConfigError when it is none, and NotFound for what it does not have.
    """

    def __init__(self, access: RegistryAccess) -> None:
        self._access = access
        self._urls = list(access.urls)
        self._lock = threading.Lock()
        self._schemas: dict[SchemaId, Registered] = {}
        self._versions: dict[tuple[str, int], int | None] = {}
        self._unknown: dict[SchemaId | str, tuple[float, NotFound]] = {}
        login = {"Authorization": f"Bearer {access.token}"} if access.token else {}
        if not all(text.isascii() and text.isprintable() for text in (*dict(access.headers).values(), *login.values())):
            raise ConfigError(
                f"{access.login or access.source}: a token or header for the schema registry has a line break, or a "
                "letter that is not ASCII"
            )
        timeout, verify = httpx.Timeout(access.read_timeout, connect=access.connect_timeout), access.tls()
        self._tokens = None if access.oauth is None else Tokens(access.oauth, verify, timeout)
        self._http = httpx.Client(
            timeout=timeout,
            auth=(access.user, access.password) if access.user else None,
            headers={"Accept": "application/vnd.schemaregistry.v1+json, application/json, */*"}
            | dict(access.headers)
            | login,
            verify=verify,
            limits=httpx.Limits(max_keepalive_connections=0),  # calls are rare, and tasks are forked
        )

    def schema(self, id_: SchemaId) -> Registered:
        """Read a schema with those that it refers to."""
        found = self._schemas.get(id_)
        if found is not None:
            return found
        with self._lock:
            if id_ not in self._schemas:
                read = self._apicurio if self._access.api == "apicurio" else self._confluent
                self._schemas[id_] = self._unless_unknown(id_, lambda: read(id_))
            return self._schemas[id_]

    def latest(self, subject: str) -> Registered:
        """Read the newest schema of a subject with those that it refers to, anew each time."""
        path = f"/subjects/{quote(subject, safe='')}/versions/latest"
        with self._lock:
            return self._unless_unknown(subject, lambda: self._registered(path))

    def _unless_unknown(self, what: SchemaId | str, read: Callable[[], Registered]) -> Registered:
        """Read what the registry did not lack a moment ago."""
        until, error = self._unknown.get(what, (0.0, None))
        if error is not None and time.monotonic() < until:
            raise NotFound(str(error))
        try:
            with self._as_a_registry():
                return read()
        except NotFound as missing:
            self._unknown = {known: entry for known, entry in self._unknown.items() if entry[0] > time.monotonic()}
            self._unknown[what] = time.monotonic() + _UNKNOWN_S, missing
            raise

    def version(self, subject: str, number: int) -> int | None:
        """Find the version that a schema has under a subject; None when it is not registered there."""
        key = subject, number
        with self._lock:
            if key not in self._versions:
                with self._as_a_registry():
                    listed = self._json("GET", f"/schemas/ids/{number}/versions")
                    found = [int(entry["version"]) for entry in listed if entry["subject"] == subject]
                    self._versions[key] = max(found, default=None)
            return self._versions[key]

    def register(
        self, subject: str, text: str, type_: SchemaType = "AVRO", references: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        """Register a schema under a subject, unless it is; give its number."""
        body = {"schema": text, "schemaType": type_, "references": list(references)}
        with self._as_a_registry():
            return int(self._json("POST", f"/subjects/{quote(subject, safe='')}/versions", body)["id"])

    def _confluent(self, id_: SchemaId) -> Registered:
        return self._registered(f"/schemas/guids/{id_.value}" if id_.kind == "guid" else f"/schemas/ids/{id_.value}")

    def _registered(self, path: str) -> Registered:
        answer = self._json("GET", path)
        references: dict[str, str] = {}
        self._follow(answer, references)
        return Registered(_text(answer["schema"]), answer.get("schemaType", "AVRO"), tuple(references.items()))

    def _follow(self, answer: Mapping[str, Any], found: dict[str, str]) -> None:
        """Add the schemas that one refers to; what they refer to comes before them."""
        for reference in answer.get("references") or ():
            if reference["name"] in found:
                continue
            if len(found) >= _MOST_REFERENCES:
                raise TerminalError(f"a schema refers to more than {_MOST_REFERENCES:,} others")
            subject, version = quote(reference["subject"], safe=""), reference["version"]
            other = self._json("GET", f"/subjects/{subject}/versions/{version}")
            found[reference["name"]] = ""  # schemas that refer to each other end here
            self._follow(other, found)
            del found[reference["name"]]
            found[reference["name"]] = _text(other["schema"])

    def _apicurio(self, id_: SchemaId) -> Registered:
        kind = "globalIds" if id_.kind == "globalId" else "contentIds"
        references: dict[str, str] = {}
        self._follow_apicurio(f"/ids/{kind}/{id_.value}/references", references)
        return Registered(self._call("GET", f"/ids/{kind}/{id_.value}").text, None, tuple(references.items()))

    def _follow_apicurio(self, path: str, found: dict[str, str]) -> None:
        for reference in self._json("GET", path):
            if reference["name"] in found:
                continue
            if len(found) >= _MOST_REFERENCES:
                raise TerminalError(f"a schema refers to more than {_MOST_REFERENCES:,} others")
            group, artifact, version = (
                quote(reference.get(part) or "default", safe="") for part in ("groupId", "artifactId", "version")
            )
            one = f"/groups/{group}/artifacts/{artifact}/versions/{version}"
            found[reference["name"]] = ""
            self._follow_apicurio(f"{one}/references", found)
            del found[reference["name"]]
            found[reference["name"]] = self._call("GET", f"{one}/content").text

    def _json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        response = self._call(method, path, body)
        try:
            return response.json()
        except ValueError:
            raise self._no_registry(str(response.url)) from None

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        """Ask the address that answered last, then the others."""
        failures: list[str] = []
        login = {} if self._tokens is None else {"Authorization": f"Bearer {self._tokens.token()}"}
        for url in list(self._urls):
            try:
                with timed("registry") as call:
                    response = whole_answer(self._http, method, url + path, json=body, headers=login)
                    call.answered(response.status_code)
            except httpx.HTTPError as error:
                failures.append(f"{url}: {str(error) or type(error).__name__}")
                continue
            if response.is_server_error or response.status_code in _PASSING:
                failures.append(f"{url}: {response.status_code} {_message(response)}")
                continue
            if url != self._urls[0]:
                self._urls = [url, *(other for other in self._urls if other != url)]
            return self._checked(response, method, url + path)
        raise ServiceUnavailable(
            f"the schema registry does not answer {method} {path} ({'; '.join(failures)}). Nothing of the batch was "
            f"committed; it is read again. Start it, or correct {self._access.source}"
        )

    def _checked(self, response: httpx.Response, method: str, url: str) -> httpx.Response:
        if response.is_success:
            return response
        text = f"{method} {url}: {response.status_code} {_message(response)}".rstrip()
        if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            given = self._access.user or self._access.token or self._access.oauth
            if self._tokens is not None:
                self._tokens.forget()
            who = "the login was refused" if given else "it asks for a login"
            raise ServiceUnavailable(
                f"the schema registry: {who} ({text}). Nothing of the batch was committed; it is read again. Give the "
                f"user the right to read, or correct {self._access.login}"
            )
        if response.status_code == httpx.codes.NOT_FOUND and _is_missing(response):
            raise NotFound(text)
        if response.status_code == httpx.codes.NOT_FOUND or response.is_redirect:
            raise self._no_registry(url)
        raise TerminalError(f"the schema registry: {text}")

    @contextmanager
    def _as_a_registry(self) -> Iterator[None]:
        """Take an answer for what it should be. Raises ConfigError where it is something else."""
        try:
            yield
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            raise self._no_registry(self._urls[0]) from None

    def _no_registry(self, url: str) -> ConfigError:
        return ConfigError(f"{url}: the answer is not that of a schema registry; correct {self._access.source}")


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError
    return found


def _is_missing(response: httpx.Response) -> bool:
    """Whether it is a registry that does not have what was asked for, not a server without such a path."""
    try:
        body = response.json()
    except ValueError:
        return False
    if not isinstance(body, dict):
        return False
    code, name = body.get("error_code"), str(body.get("name", ""))
    return (isinstance(code, int) and code // 100 == httpx.codes.NOT_FOUND) or (
        name.endswith("NotFoundException") and name != "NotFoundException"
    )


def _message(response: httpx.Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return response.reason_phrase
    return str(body.get("message") or body.get("title") or "")[:300] if isinstance(body, dict) else ""
