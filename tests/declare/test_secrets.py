from __future__ import annotations

import base64
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.declare.secrets import forms, hide_secrets, is_secret, secrets_of

AWKWARD = """p"a\\s's@w ö/r?d+&<1>"""


@pytest.mark.parametrize(
    "name",
    [
        "iceberg.catalog.s3.secret-access-key",
        "iceberg.catalog.rest.session-token",
        "consumer.override.sasl.jaas.config",
        "consumer.override.ssl.key.PASSWORD",
        "iceberg.catalog.credential",
        "iceberg.catalog.header.Authorization",
        "iceberg.catalog.header.X-Api-Key",
        "value.converter.apikey",
        "ssl.key.passphrase",
        "iceberg.catalog.adls.sas-token",
        "iceberg.catalog.adls.sas.container",
        "iceberg.catalog.adls.account-key",
        "iceberg.catalog.adls.connection-string",
        "value.converter.basic.auth.user.info",
        "ssl.keystore.key",
        "iceberg.catalog.header.Cookie",
        "s3.sse.customer.key",
        "database.pwd",
        "my.passwd",
    ],
)
def test_secret_keys(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "iceberg.catalog.uri",
        "topics",
        "consumer.override.sasl.mechanism",
        "iceberg.catalog.s3.access-key-id",
        "key.converter",
        "iceberg.tables.default-id-columns",
        "ssl.keystore.location",
        "transforms.k.type",
        "consumer.override.max.poll.records",
        "value.converter.basic.auth.credentials.source",
        "value.converter.bearer.auth.credentials.source",
    ],
)
def test_keys_that_are_shown(name: str) -> None:
    assert not is_secret(name)


def test_values_are_hidden_longest_first() -> None:
    config = {"a.secret": "abc", "b.password": "abcdef", "uri": "http", "use.token": "true"}
    assert hide_secrets("abcdef abc http true", config) == "[hidden] [hidden] http true"


def test_more_values_and_placeholders() -> None:
    config = {"a.secret": "${env:X}", "b": "v"}
    assert hide_secrets("${env:X} v provided", config, ["provided"]) == "${env:X} v [hidden]"


@pytest.mark.parametrize(
    "shown",
    [
        AWKWARD,
        repr(AWKWARD),
        json.dumps(AWKWARD),
        json.dumps(AWKWARD, ensure_ascii=False),
        json.dumps(json.dumps({"k": AWKWARD})),
        quote(AWKWARD),
        quote(AWKWARD, safe=""),
        quote_plus(AWKWARD),
        quote(AWKWARD, safe="").lower(),
        html.escape(AWKWARD),
    ],
)
def test_a_value_is_hidden_in_each_of_its_forms(shown: str) -> None:
    hidden = hide_secrets(f"refused: {shown}.", {"a.password": AWKWARD})
    assert "[hidden]" in hidden
    assert "w" not in hidden.replace("[hidden]", "")


@given(before=st.binary(max_size=9), value=st.text(min_size=10, max_size=40), after=st.binary(max_size=9))
def test_a_value_is_found_in_base64_of_whatever_it_stands_in(before: bytes, value: str, after: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + value.encode() + after).decode()
        assert any(form in text for form in forms(value))


def test_the_login_of_a_request_is_hidden() -> None:
    login = base64.b64encode(b"ops:correct horse").decode()
    assert login[8:-4] not in hide_secrets(f"sent {login}", {"rest.password": "correct horse"})
    for text in (
        f"Authorization: Basic {login}",
        f"{{'authorization': 'Bearer {login}'}}",
        f"(b'Authorization', b'Basic {login}')",
        f'"Authorization":"AWS4-HMAC-SHA256 Credential=a/b, Signature={login}"',
    ):
        assert login not in hide_secrets(text, {}), text
    assert hide_secrets("needs basic authentication", {}) == "needs basic authentication"


def test_secrets_within_values() -> None:
    jaas = r"""org.x.PlainLoginModule required username="u" password="p\"q" clientSecret='cs';"""
    assert secrets_of({"sasl.jaas.config": jaas}) == {jaas, 'p"q', "cs"}
    assert secrets_of({"uri": "https://me:s3cr3t@host/x", "plain": "http://host:80/a@b"}) == {"s3cr3t"}
    assert secrets_of({"url": "jdbc:x://h/db?user=u&password=s3cr3t&ssl=true"}) == {"s3cr3t"}


def test_lines_of_a_key_are_hidden_each() -> None:
    body = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"]
    pem = "\n".join(["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"])
    shown = f"at line 2:\n  {body[1]}\n-----END PRIVATE KEY-----"
    assert hide_secrets(shown, {"ssl.keystore.key": pem}) == "at line 2:\n  [hidden]\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize("part", ["token", "://a:", ":", 'password="', "authorization: Basic ", "\\"])
def test_long_values_cost_little(part: str) -> None:
    value = part * (200_000 // len(part))
    began = time.process_time()
    secrets_of({"a": value, "b": "://" + value})
    hide_secrets(value, {})
    assert time.process_time() - began < 2
