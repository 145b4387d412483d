from __future__ import annotations

import socket

import pytest
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    ForbiddenError,
    NoSuchIdentifierError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    UnauthorizedError,
)
from requests.exceptions import ConnectionError, ReadTimeout, RequestException

from frazil.clients.catalog import catalog_error, catalog_errors, connect
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, ServiceUnavailable
from tests import web


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionError(), ServiceUnavailable),
        (ReadTimeout(), ServiceUnavailable),
        (ServerError("500"), ServiceUnavailable),
        (ServiceUnavailableError("503"), ServiceUnavailable),
        (TooManyRequestsError("429"), ServiceUnavailable),
        (AuthorizationExpiredError("419"), ServiceUnavailable),
        (ForbiddenError("403"), ConfigError),
        (UnauthorizedError("401"), ConfigError),
        (RESTError("no such warehouse"), ConfigError),
    ],
)
def test_what_passes_and_what_does_not(error: RequestException | RESTError, kind: type[Exception]) -> None:
    made = catalog_error({"uri": "http://127.0.0.1:1", "rest.sigv4-enabled": "true"}, "table a.b", error)
    assert isinstance(made, kind)
    assert "http://127.0.0.1:1" in str(made)
    assert "table a.b" in str(made)


def test_a_web_page_is_no_answer_of_a_catalog() -> None:
    """Of a proxy before a catalog that is away, say."""

    class Page(web.Handler):
        def do_GET(self) -> None:
            self.answer(200, b"<html>", "text/html; charset=utf-8")

    with web.served(Page) as url, pytest.raises(ServiceUnavailable, match=r"does not answer \(it sends a web page\)"):
        connect({"uri": url})


def test_a_name_without_a_namespace_is_told() -> None:
    with pytest.raises(ConfigError, match="table x: the name of a table is written"), catalog_errors({}, "table x"):
        raise NoSuchIdentifierError


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("http://127.0.0.1:8181", "Start that of the stack: `start seaweedfs`"),
        ("https://lake.example/_iceberg", "correct iceberg.catalog.uri or ICEBERG_CATALOG_URI"),
        ("http://[broken", "correct iceberg.catalog.uri or ICEBERG_CATALOG_URI"),
    ],
)
def test_the_next_step_is_that_for_the_catalog(uri: str, hint: str) -> None:
    assert hint in str(catalog_error({"uri": uri}, "table a.b", ConnectionError()))


@pytest.mark.parametrize("error", [ForbiddenError("403"), UnauthorizedError("401")])
@pytest.mark.parametrize(
    ("identity", "unsigned"),
    [
        ({}, True),
        ({"rest.sigv4-enabled": "false"}, True),
        ({"rest.sigv4-enabled": "true"}, False),
        ({"rest.auth.type": "sigv4"}, False),
        ({"token": "t"}, False),
        ({"credential": "a:b"}, False),
    ],
)
def test_a_refusal_names_the_signature_that_is_missing(
    error: RESTError, identity: dict[str, str], unsigned: bool
) -> None:
    text = str(catalog_error({"uri": "http://127.0.0.1:1", **identity}, "table a.b", error))
    assert ("iceberg.catalog.rest.sigv4-enabled=true (or iceberg.catalog.rest.auth.type=sigv4)" in text) is unsigned
    assert ("the access keys" in text) is not unsigned


@pytest.mark.parametrize("uri", ["127.0.0.1:8181", "htp://127.0.0.1:8181", "http://[::1"])
def test_a_uri_that_cannot_be_asked(uri: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be asked: .* Correct iceberg\.catalog\.uri or ICEBERG_CATALOG_URI"):
        connect({"type": "rest", "uri": uri, "warehouse": "w"})


def test_a_catalog_that_takes_requests_and_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.clients.catalog._TIMEOUT_S", (5.0, 0.2))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ServiceUnavailable, match=r"does not answer \(ReadTimeout\)"):
            connect({**Settings({}).catalog_properties(), "uri": uri})
