from __future__ import annotations

import getpass
import re

import pytest
from requests.exceptions import InvalidSchema, SSLError

from frazil.clients.trino import catalog_statement, connect, create_catalog, failure, has_catalog
from frazil.config.settings import Settings
from frazil.errors import ConfigError, TerminalError

EXTERNAL = {"TRINO_URL": "https://trino.example:8443", "MINIO_SECRET_KEY": "s3 secret"}


def properties(statement: str) -> dict[str, str]:
    return dict(re.findall(r'"([\w.-]+)" = \'([^\']*)\'', statement))


@pytest.mark.parametrize(
    ("version", "spelling"),
    [
        (471, {"iceberg.rest-catalog.sigv4-enabled": "true"}),
        (476, {"iceberg.rest-catalog.sigv4-enabled": "true"}),
        (477, {"iceberg.rest-catalog.security": "SIGV4"}),
        (483, {"iceberg.rest-catalog.security": "SIGV4"}),
    ],
)
def test_sigv4_is_spelled_as_the_release_wants_it(version: int, spelling: dict[str, str]) -> None:
    """Source: spark-and-stack.md 6.9; the other properties are those of seed 000 section 3.4."""
    found = properties(catalog_statement(Settings({}), version))
    names = ("iceberg.rest-catalog.sigv4-enabled", "iceberg.rest-catalog.security")
    assert {name: found.pop(name) for name in names if name in found} == spelling
    assert (
        found.items()
        >= {
            "iceberg.catalog.type": "rest",
            "iceberg.rest-catalog.uri": "http://127.0.0.1:8181",
            "iceberg.rest-catalog.warehouse": "kafkawarehouse",
            "iceberg.rest-catalog.signing-name": "s3tables",
            "s3.endpoint": "http://127.0.0.1:9000",
            "s3.path-style-access": "true",
            "fs.native-s3.enabled": "true",
        }.items()
    )


def test_keys_are_named_by_reference_for_the_trino_of_the_stack() -> None:
    own = catalog_statement(Settings({"MINIO_SECRET_KEY": "s3 secret"}), 476)
    assert properties(own)["s3.aws-secret-key"] == "${ENV:MINIO_SECRET_KEY}"
    assert "s3 secret" not in own
    assert properties(own)["iceberg.security"] == "READ_ONLY"
    assert "iceberg.security" not in properties(catalog_statement(Settings(EXTERNAL), 476))
    assert properties(catalog_statement(Settings(EXTERNAL), 476))["s3.aws-secret-key"] == "s3 secret"


def test_names_and_values_are_quoted() -> None:
    statement = catalog_statement(Settings({"WAREHOUSE_NAME": 'a"b', "MINIO_ENDPOINT": "http://it's:9000"}), 476)
    assert statement.startswith('CREATE CATALOG IF NOT EXISTS "a""b" USING iceberg WITH (')
    assert "\"s3.endpoint\" = 'http://it''s:9000'" in statement


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
