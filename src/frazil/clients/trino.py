"""Connections to a Trino server, and the catalog that it needs for the tables."""

import getpass
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import requests
from requests.exceptions import InvalidSchema, RequestException, SSLError
from requests.utils import get_environ_proxies

from frazil.clients.trino_catalog import catalog_statement
from frazil.environment.extras import extra
from frazil.environment.paths import expanded
from frazil.environment.settings import Settings
from frazil.environment.urls import is_this_machine
from frazil.errors import ConfigError, FrazilError, ServiceUnavailable, StackUnavailable, TerminalError

with extra("trino"):
    from trino.auth import Authentication, BasicAuthentication, JWTAuthentication
    from trino.dbapi import Connection
    from trino.exceptions import Error, HttpError, TrinoQueryError

# What the client raises for an answer that is not one of Trino's, such as the page of a proxy.
_NOT_TRINO = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
FAILURES: Final = (Error, HttpError, RequestException, *_NOT_TRINO)
"""Errors that a call of the client raises; `failure` translates them."""

_TIMEOUT_S = 60.0
_MASKED = "***"


def connect(settings: Settings) -> Connection:
    """A connection to `Settings.trino_url`; nothing is sent yet.

    The user is `TRINO_USER`, else the one of the operating system. A server of the user's gets `TRINO_PASSWORD` or
    `TRINO_TOKEN`, over https only, and is trusted by `TRINO_CA_FILE`; the stack's own needs none of them. Names
    without catalog and schema mean the warehouse and the namespace of the settings.

    Raises ConfigError when a secret would travel over plain http, or when these variables contradict each other.
    """
    url = urlsplit(settings.trino_url)
    own = not settings.trino_external
    user = _user(settings.env)
    auth = None if own else _authentication(url, user, settings.env)
    return Connection(
        host=url.hostname or "",
        port=_port(url),
        http_scheme=url.scheme,
        user=user,
        auth=auth,
        http_session=_session(url, settings.env, own=own, secret=auth is not None),
        catalog=settings.sql_catalog,
        schema=settings.namespace,
        source="frazil",
        timezone="UTC",
        max_attempts=1,
        request_timeout=_TIMEOUT_S,
    )


def server_version(settings: Settings) -> int:
    """Release of the server, like 476. Raises ServiceUnavailable when it does not answer or still starts."""
    [[version]] = _rows(settings, "SELECT version()")
    digits = str(version).partition("-")[0].partition(".")[0]
    if not digits.isdigit():
        raise TerminalError(f"Trino at {address(settings)} says that its version is {version!r}; expected a number")
    return int(digits)


def has_catalog(settings: Settings) -> bool:
    """Whether the server knows the warehouse's catalog. Raises ServiceUnavailable when it does not answer."""
    return [settings.sql_catalog] in _rows(settings, "SHOW CATALOGS")


def _rows(settings: Settings, statement: str) -> list[list[Any]]:
    with connect(settings) as connection:
        try:
            rows: list[list[Any]] = connection.cursor().execute(statement).fetchall()
        except FAILURES as error:
            raise failure(settings, error) from None
    return rows


def create_catalog(settings: Settings) -> bool:
    """Create the dynamic catalog of the warehouse; False when the server has one of that name already.

    The keys of the object store are named by reference for the stack's own Trino. Another server gets the keys
    themselves, since it has no such variables: over https or loopback only. Raises ConfigError when they would
    travel in the clear or when the server takes no dynamic catalogs, ServiceUnavailable when it does not answer.
    """
    if has_catalog(settings):
        return False
    url = urlsplit(settings.trino_url)
    if url.scheme != "https" and not is_this_machine(url.hostname or ""):
        raise ConfigError(
            f"Trino at {address(settings)} has no catalog {settings.sql_catalog}, and none was created: the statement "
            "holds the keys of the object store, which are not sent over plain http. Use an https URL in TRINO_URL, or "
            "create the catalog on the server"
        )
    statement = catalog_statement(settings, server_version(settings))
    with connect(settings) as connection:
        try:
            connection.cursor().execute(statement).fetchall()
        except TrinoQueryError as error:
            raise _not_created(settings, error) from None
        except FAILURES as error:
            raise failure(settings, error) from None
    return True


def address(settings: Settings) -> str:
    """Scheme, host and port of the server, without anything secret."""
    url = urlsplit(settings.trino_url)
    return f"{url.scheme}://{url.hostname}:{_port(url)}"


def failure(settings: Settings, error: Exception) -> FrazilError:
    """Translate a failed call, with what to do next and without secrets."""
    server = f"Trino at {address(settings)}"
    reason = _masked(settings, error)
    if isinstance(error, TrinoQueryError):
        return ServiceUnavailable(f"{server} failed: {reason}. Check that the store and the catalog answer: `status`")
    causes = [*_causes(error)]
    if not settings.trino_external:
        return StackUnavailable(
            f"{server} does not answer ({type(causes[-1]).__name__}). Start it with `start trino`, or leave out "
            "`--engine trino`"
        )
    if any(isinstance(cause, InvalidSchema) for cause in causes):
        return ConfigError(
            f"{server} continues its answer over plain http, where the password or token is not sent. Let its proxy "
            "send X-Forwarded-Proto, and set http-server.process-forwarded=true on the server"
        )
    if any(isinstance(cause, SSLError) for cause in causes):
        return ConfigError(
            f"{server} is not trusted: {reason}. Set TRINO_CA_FILE to the certificates of its issuer, or correct "
            "TRINO_URL"
        )
    if isinstance(error, HttpError) and any(f"error {code}" in str(error) for code in (401, 403)):
        return ConfigError(
            f"{server} refuses {_user(settings.env)}: check TRINO_USER and TRINO_PASSWORD or TRINO_TOKEN"
        )
    if isinstance(error, _NOT_TRINO) and not isinstance(error, RequestException):
        return ServiceUnavailable(
            f"{server} does not answer as Trino does ({type(error).__name__}); check TRINO_URL, or ask the embedded "
            "engine with `--engine embedded`"
        )
    return ServiceUnavailable(
        f"{server} does not answer: {reason}; check TRINO_URL, or ask the embedded engine with `--engine embedded`"
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and those that it came from; the client wraps what its HTTP library raises."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _not_created(settings: Settings, error: TrinoQueryError) -> FrazilError:
    text = f"Trino at {address(settings)} did not create the catalog {settings.sql_catalog}: {_masked(settings, error)}"
    if error.error_name in ("NOT_SUPPORTED", "PERMISSION_DENIED"):
        return ConfigError(f"{text}. Set catalog.management=dynamic on the server, or create the catalog there by hand")
    return TerminalError(text)


def _authentication(url: SplitResult, user: str, env: Mapping[str, str]) -> Authentication | None:
    password, token = env.get("TRINO_PASSWORD", ""), env.get("TRINO_TOKEN", "")
    if url.username or url.password:
        raise ConfigError("TRINO_URL holds a user or a password; put them into TRINO_USER and TRINO_PASSWORD")
    if password and token:
        raise ConfigError("TRINO_PASSWORD and TRINO_TOKEN are both set; unset the one that the server does not take")
    if (password or token) and url.scheme != "https":
        name, what = ("TRINO_PASSWORD", "password") if password else ("TRINO_TOKEN", "token")
        raise ConfigError(
            f"{name} is set and TRINO_URL is not https: the {what} is not sent in the clear; use an https URL or unset "
            f"{name}"
        )
    if token:
        return JWTAuthentication(token)
    return BasicAuthentication(user, password) if password else None


def _session(url: SplitResult, env: Mapping[str, str], *, own: bool, secret: bool) -> requests.Session:
    session = requests.Session()
    ca_file = env.get("TRINO_CA_FILE", "").strip()
    if own:
        session.trust_env = False  # no proxy before loopback
    elif ca_file:
        path = expanded("TRINO_CA_FILE", ca_file)
        if not path.is_file():
            raise ConfigError(f"TRINO_CA_FILE={ca_file}: there is no such file; correct the path or unset the variable")
        # With trust_env other bundles of the environment would win over this one.
        session.trust_env = False
        session.proxies.update(get_environ_proxies(url.geturl()))
        session.verify = str(path)
    if secret:
        del session.adapters["http://"]  # the answers name the next URL; none in the clear is followed
    return session


def _user(env: Mapping[str, str]) -> str:
    named = env.get("TRINO_USER", "")
    if named:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def _masked(settings: Settings, error: Exception) -> str:
    text = (
        f"{error.error_name}: {error.message}"
        if isinstance(error, TrinoQueryError)
        else f"{type(error).__name__}: {error}"
    )
    secrets = (settings.env.get(name, "") for name in ("TRINO_PASSWORD", "TRINO_TOKEN"))
    for secret in (*secrets, settings.secret_key):
        text = text.replace(secret, _MASKED) if secret else text
    return text


def _port(url: SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)
