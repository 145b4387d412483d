from __future__ import annotations

import getpass
import re

import pytest
from requests.exceptions import InvalidSchema, SSLError

from frazil.clients.trino import connect, create_catalog, failure, has_catalog
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, TerminalError

EXTERNAL = {"TRINO_URL": "https://trino.example:8443", "MINIO_SECRET_KEY": "s3 secret"}


@pytest.mark.parametrize(("name", "what"), [("TRINO_PASSWORD", "password"), ("TRINO_TOKEN", "token")])
def test_a_secret_never_travels_in_the_clear(name: str, what: str) -> None:
    with pytest.raises(ConfigError, match=f"TRINO_URL is not https: the {what} is not sent") as caught:
        connect(Settings({"TRINO_URL": "http://127.0.0.1:8080", name: "hunter2"}))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"TRINO_PASSWORD": "a", "TRINO_TOKEN": "b"}, "TRINO_PASSWORD and TRINO_TOKEN are both set"),
        ({"TRINO_URL": "https://ada:hunter2@trino.example"}, "put them into TRINO_USER and TRINO_PASSWORD"),
        ({"TRINO_CA_FILE": "/nosuch/ca.pem"}, "TRINO_CA_FILE=/nosuch/ca.pem: there is no such file"),
    ],
)
def test_variables_that_cannot_be_used(variables: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        connect(Settings({**EXTERNAL, **variables}))
    assert "hunter2" not in str(caught.value)


def test_the_trino_of_the_stack_gets_no_secret() -> None:
    """They are meant for a server of the user's, whose URL is not set."""
    with connect(Settings({"TRINO_PASSWORD": "hunter2", "TRINO_CA_FILE": "/nosuch"})) as connection:
        assert connection.auth is None


def test_the_user_is_configured_or_the_one_of_the_system() -> None:
    for variables, user in (({"TRINO_USER": "ada"}, "ada"), ({}, getpass.getuser())):
        with connect(Settings(variables)) as connection:
            assert connection.user == user


def test_keys_of_the_store_do_not_travel_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.clients.trino.has_catalog", lambda settings: False)
    with pytest.raises(ConfigError, match="no catalog kafkawarehouse, and none was created: .* not sent over plain"):
        create_catalog(Settings({**EXTERNAL, "TRINO_URL": "http://trino.example:8080"}))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InvalidSchema("no adapter"), "continues its answer over plain http"),
        (SSLError("self-signed certificate"), "is not trusted: .* Set TRINO_CA_FILE"),
    ],
)
def test_what_a_failure_means(error: Exception, message: str) -> None:
    found = failure(Settings(EXTERNAL), error)
    assert isinstance(found, ConfigError)
    assert re.search(message, str(found))


def test_secrets_are_masked_in_errors() -> None:
    found = failure(Settings({**EXTERNAL, "TRINO_PASSWORD": "hunter2"}), OSError("of hunter2 and s3 secret"))
    assert str(found).count("***") == 2


@pytest.mark.trino
def test_the_catalog_is_created_once_on_a_server_of_the_user(trino: Settings) -> None:
    settings = Settings({**trino.env, "TRINO_URL": trino.trino_url, "WAREHOUSE_NAME": "others"})
    assert create_catalog(settings) is True
    assert create_catalog(settings) is False
    with connect(settings) as connection:
        connection.cursor().execute("DROP CATALOG others").fetchall()
    assert not has_catalog(settings)


@pytest.mark.trino
def test_a_catalog_that_the_server_refuses_is_told_without_the_keys(trino: Settings) -> None:
    settings = Settings(
        {
            **trino.env,
            "TRINO_URL": trino.trino_url,
            "WAREHOUSE_NAME": "others",
            "MINIO_SECRET_KEY": "s3 secret",
            "MINIO_ENDPOINT": "no URL",
        }
    )
    with pytest.raises(TerminalError, match="did not create the catalog others: ") as caught:
        create_catalog(settings)
    assert "s3 secret" not in str(caught.value)
    assert not has_catalog(settings)
