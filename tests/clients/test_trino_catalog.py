from __future__ import annotations

import re

import pytest

from frazil.clients.trino_catalog import catalog_statement
from frazil.environment.settings import Settings

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
    """The other properties are the same for every release."""
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
