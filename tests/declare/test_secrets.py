from __future__ import annotations

import pytest

from frazil.declare.secrets import hide_secrets, is_secret


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("iceberg.catalog.s3.secret-access-key", True),
        ("iceberg.catalog.rest.session-token", True),
        ("consumer.override.sasl.jaas.config", True),
        ("consumer.override.ssl.key.PASSWORD", True),
        ("iceberg.catalog.credential", True),
        ("iceberg.catalog.uri", False),
        ("topics", False),
    ],
)
def test_secret_keys(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


def test_values_are_hidden_longest_first() -> None:
    config = {"a.secret": "abc", "b.password": "abcdef", "uri": "http", "use.token": "true"}
    assert hide_secrets("abcdef abc http true", config) == "[hidden] [hidden] http true"


def test_more_values_and_placeholders() -> None:
    config = {"a.secret": "${env:X}", "b": "v"}
    assert hide_secrets("${env:X} v provided", config, ["provided"]) == "${env:X} v [hidden]"
