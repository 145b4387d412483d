"""The same statements on a Trino server, when `TRINO_URL` names one."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from requests.exceptions import RequestException
from trino.auth import BasicAuthentication
from trino.dbapi import Connection
from trino.exceptions import Error, TrinoQueryError, TrinoUserError
from trino.types import NamedRowTuple

from frazil.config.settings import Settings
from frazil.errors import ConfigError, QueryError, ServiceUnavailable
from frazil.query.result import Result
from frazil.query.statements import split

_TIMEOUT_S = 60.0
_MASKED = "***"


class TrinoEngine:
    """Answers reading statements on the Trino server of `TRINO_URL`.

    The user is `TRINO_USER`, else the one of the operating system; a password comes from `TRINO_PASSWORD`. Names
    without catalog and schema mean the warehouse and the namespace of the settings.

    Raises ConfigError when a password would travel over plain http.
    """

    def __init__(self, settings: Settings) -> None:
        url = urlsplit(settings.trino_url)
        password = settings.env.get("TRINO_PASSWORD", "")
        if password and url.scheme != "https":
            raise ConfigError(
                "TRINO_PASSWORD is set and TRINO_URL is not https: the password is not sent in the clear; "
                "use an https URL or unset TRINO_PASSWORD"
            )
        self._server = f"{url.scheme}://{url.hostname}:{url.port or (443 if url.scheme == 'https' else 80)}"
        self._password = password
        self.user = _user(settings.env)
        self._connection = Connection(
            host=url.hostname or "",
            port=url.port or (443 if url.scheme == "https" else 80),
            http_scheme=url.scheme,
            user=self.user,
            auth=BasicAuthentication(self.user, password) if password else None,
            catalog=settings.warehouse.rstrip("/").rsplit("/", 1)[-1],
            schema=settings.namespace,
            source="frazil",
            timezone="UTC",
            max_attempts=1,
            request_timeout=_TIMEOUT_S,
        )

    def run(self, sql: str) -> Iterator[Result]:
        """Answers to the statements of a text, one after the other.

        Raises QueryError for what Trino refuses (a statement that writes is refused before any has run) and
        ServiceUnavailable when it does not answer.
        """
        for statement in split(sql):
            started = time.perf_counter()
            try:
                cursor = self._connection.cursor()
                cursor.execute(statement.text)
                rows = [tuple(plain(value) for value in row) for row in cursor.fetchall()]
                columns = tuple(column.name for column in cursor.description or ())
            except TrinoUserError as error:
                raise QueryError(self._refused(error)) from None
            except (Error, RequestException) as error:
                reason = self._refused(error) if isinstance(error, TrinoQueryError) else self._masked(error)
                raise ServiceUnavailable(
                    f"Trino at {self._server} does not answer: {reason}; check TRINO_URL, or unset it to ask the "
                    f"embedded engine"
                ) from None
            yield Result(columns, rows, time.perf_counter() - started)

    def _refused(self, error: TrinoQueryError) -> str:
        return f"{error.error_name}: {error.message}"

    def _masked(self, error: Any) -> str:
        text = f"{type(error).__name__}: {error}"
        return text.replace(self._password, _MASKED) if self._password else text


def plain(value: Any) -> Any:
    """A value of the client as the embedded engine gives it: rows as dict, unnamed fields as `field0`."""
    if isinstance(value, NamedRowTuple):
        names = value.__annotations__["names"]
        return {name or f"field{i}": plain(item) for i, (name, item) in enumerate(zip(names, value, strict=True))}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _user(env: Mapping[str, str]) -> str:
    named = env.get("TRINO_USER", "")
    if named:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"
