from __future__ import annotations

import json
import pickle
import ssl
from typing import Any

import pytest

from frazil.clients.registry.access import ClientCredentials, RegistryAccess, apicurio_access, confluent_access
from frazil.clients.registry.client import RegistryClient, registry_client
from frazil.clients.registry.schema import Registered, SchemaId
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import ConfigError, FrazilError, NotFound, ServiceUnavailable, TerminalError
from frazil.stack.ports import unused
from tests.clients.registry.server import served
from tests.token_endpoint import CLIENT, CLIENT_SECRET, TokenEndpoint, token_endpoint

SEVEN = SchemaId("id", 7)
PREFIX = "value.converter."


def test_a_schema_is_read_once_and_outlives_its_registry() -> None:
    with served({"/schemas/ids/7": {"schema": '"string"'}}) as registry:
        client = RegistryClient(RegistryAccess((registry.url,)))
        assert client.schema(SEVEN) == Registered('"string"', "AVRO")
        assert client.schema(SEVEN) is client.schema(SEVEN)
        assert registry.asked == ["/schemas/ids/7"]
    assert client.schema(SEVEN).text == '"string"'
    with pytest.raises(ServiceUnavailable, match="the schema registry does not answer GET /schemas/ids/8"):
        client.schema(SchemaId("id", 8))


def test_references_come_before_what_needs_them() -> None:
    def schema(text: str, *names: str) -> dict[str, object]:
        return {"schema": text, "references": [{"name": n, "subject": f"s/{n}", "version": 2} for n in names]}

    answers = {
        "/schemas/ids/7": schema("root", "b", "c"),
        "/subjects/s%2Fb/versions/2": schema("B", "a"),
        "/subjects/s%2Fa/versions/2": schema("A"),
        "/subjects/s%2Fc/versions/2": schema("C", "a", "c"),  # it refers to itself, which ends
    }
    with served(answers) as registry:
        found = RegistryClient(RegistryAccess((registry.url,))).schema(SEVEN)
    assert found.references == (("a", "A"), ("b", "B"), ("c", "C"))


def test_an_unknown_id_is_asked_for_once_in_a_while() -> None:
    with served({}) as registry:
        client = RegistryClient(RegistryAccess((registry.url,)))
        for _ in range(3):
            with pytest.raises(NotFound, match="404 Schema not found"):
                client.schema(SEVEN)
        assert registry.asked == ["/schemas/ids/7"]


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        ((401, {"message": "who?"}), ServiceUnavailable, r"it asks for a login \(.*401 who\?.*correct the.login.key"),
        ((403, b""), ServiceUnavailable, "it asks for a login"),
        ((500, {"message": "no store"}), ServiceUnavailable, "500 no store"),
        ((429, b""), ServiceUnavailable, "429"),
        ((404, b"<html>"), ConfigError, "not that of a schema registry; correct the.url.key"),
        ((404, {"status": 404, "name": "NotFoundException"}), ConfigError, "not that of a schema registry"),
        ((302, b""), ConfigError, "not that of a schema registry"),
        (b"<html>", ConfigError, "not that of a schema registry"),
        ([1], ConfigError, "not that of a schema registry"),
        ({"schema": 5}, ConfigError, "not that of a schema registry"),
        ({"error": "sorry"}, ConfigError, "not that of a schema registry"),
        ({"schema": "1", "references": [5]}, ConfigError, "not that of a schema registry"),
        (b"[" * 100_000, ConfigError, "not that of a schema registry"),
        ((404, {"status": 404, "name": "ContentNotFoundException", "title": "none"}), NotFound, "404 none"),
        ((422, {"message": "no"}), TerminalError, "422 no"),
    ],
)
def test_what_is_wrong_is_told_apart(answer: object, error: type[FrazilError], text: str) -> None:
    with served({"/schemas/ids/7": answer}) as registry:
        client = RegistryClient(RegistryAccess((registry.url,), source="the.url.key", login="the.login.key"))
        with pytest.raises(error, match=text) as raised:
            client.schema(SEVEN)
    assert type(raised.value) is error


def test_the_next_address_answers_when_one_does_not_and_is_asked_first_then() -> None:
    nobody = f"http://{LOOPBACK}:{unused(1)[0]}"
    with served({"/schemas/ids/7": (503, b"")}) as broken, served({"/schemas/ids/7": {"schema": "1"}}) as good:
        good.answers["/schemas/ids/8"] = {"schema": "2"}
        client = RegistryClient(RegistryAccess((nobody, broken.url, good.url)))
        assert client.schema(SEVEN).text == "1"
        assert client.schema(SchemaId("id", 8)).text == "2"
        assert broken.asked == ["/schemas/ids/7"]


@pytest.mark.parametrize(
    "login", [{"token": "hidden\n"}, {"token": "h\xefdden"}, {"headers": (("key", "hidden\r\n"),)}]
)
def test_a_login_that_cannot_be_sent_is_told_and_not_shown(login: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="the.login.key: a token or header .* has a line break") as raised:
        RegistryClient(RegistryAccess(("http://none",), login="the.login.key", **login))
    assert "dden" not in str(raised.value)


def test_logins_are_sent_and_never_shown() -> None:
    with served({"/schemas/ids/7": {"schema": "1"}}) as registry:
        host = registry.url.removeprefix("http://")
        for options, expected in (
            ({"schema.registry.url": f"http://me:p%40ss@{host}"}, "Basic bWU6cEBzcw=="),
            (
                {
                    "schema.registry.url": registry.url,
                    "basic.auth.credentials.source": "USER_INFO",
                    "basic.auth.user.info": "me:p@ss",
                },
                "Basic bWU6cEBzcw==",
            ),
            (
                {
                    "schema.registry.url": f"{registry.url}/",
                    "bearer.auth.credentials.source": "STATIC_TOKEN",
                    "bearer.auth.token": "p@ss",
                },
                "Bearer p@ss",
            ),
        ):
            access = confluent_access(options, PREFIX)
            assert access.urls == (registry.url,)
            assert "p@ss" not in repr(access)
            RegistryClient(access).schema(SEVEN)
            assert registry.seen["Authorization"] == expected


def by_token(url: str, endpoint: TokenEndpoint, **more: str) -> RegistryAccess:
    bearer = {
        "credentials.source": "OAUTHBEARER",
        "issuer.endpoint.url": endpoint.token_url,
        "client.id": CLIENT,
        "client.secret": CLIENT_SECRET,
        "logical.cluster": "lsrc-1",
    }
    options = {f"bearer.auth.{name}": text for name, text in (bearer | more).items()}
    return confluent_access(options | {"schema.registry.url": url}, PREFIX)


def test_tokens_come_from_an_identity_provider_and_are_kept_until_they_end() -> None:
    answers = {f"/schemas/ids/{number}": {"schema": "1"} for number in (7, 8)}
    with served(answers) as registry, token_endpoint() as endpoint:
        access = by_token(registry.url, endpoint, **{"cache.expiry.buffer.seconds": "10"})
        assert CLIENT_SECRET not in repr(access)
        client = RegistryClient(access)
        for number in (7, 8):
            client.schema(SchemaId("id", number))
        assert len(endpoint.given) == 1
        assert registry.seen["Authorization"].startswith("Bearer ey")
        assert registry.seen["target-sr-cluster"] == "lsrc-1"
        spared = RegistryClient(by_token(registry.url, endpoint, **{"cache.expiry.buffer.seconds": "300"}))
        for number in (7, 8):
            spared.schema(SchemaId("id", number))
        assert len(endpoint.given) == 3


def test_apicurios_keys_name_an_identity_provider_too() -> None:
    with served({}) as registry, token_endpoint() as endpoint:
        options = {
            "url": registry.url,
            "auth.service.token.endpoint": endpoint.token_url,
            "auth.client.id": CLIENT,
            "auth.client.secret": CLIENT_SECRET,
        }
        access = apicurio_access({f"apicurio.registry.{name}": text for name, text in options.items()}, PREFIX)
        with pytest.raises(NotFound):
            RegistryClient(access).schema(SchemaId("contentId", 1))
        assert registry.seen["Authorization"].startswith("Bearer ey")


def test_a_refused_token_is_replaced_and_a_refused_client_names_the_key() -> None:
    with served({"/schemas/ids/7": (401, b"")}) as registry, token_endpoint() as endpoint:
        client = RegistryClient(by_token(registry.url, endpoint, **{"cache.expiry.buffer.seconds": "1"}))
        for _ in range(2):
            with pytest.raises(ServiceUnavailable, match="the login was refused .*bearer.auth.client.id"):
                client.schema(SEVEN)
        assert len(endpoint.given) == 2
        wrong = RegistryClient(by_token(registry.url, endpoint, **{"client.secret": "x"}))
        with pytest.raises(ServiceUnavailable, match=r"answers 401.*Correct value.converter.bearer.auth.issuer.endp"):
            wrong.schema(SEVEN)
        lost = RegistryClient(by_token(registry.url, endpoint, **{"issuer.endpoint.url": registry.url}))
        with pytest.raises(ServiceUnavailable, match="there is no token for the schema registry"):
            lost.schema(SEVEN)


def test_clients_are_shared_by_tasks_that_have_the_same_access() -> None:
    access = confluent_access({"schema.registry.url": "http://a:1, http://b:2"}, PREFIX)
    assert access.urls == ("http://a:1", "http://b:2")
    assert registry_client(pickle.loads(pickle.dumps(access))) is registry_client(access)  # noqa: S301


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "value.converter.schema.registry.url is not set"),
        ({"schema.registry.url": "localhost:8081"}, "value.converter.schema.registry.url: expected URLs"),
        ({"schema.registry.url": "http://h:x"}, "value.converter.schema.registry.url: its value is not a URL"),
        (
            {"schema.registry.url": "http://h", "basic.auth.credentials.source": "USER_INFO"},
            "value.converter.basic.auth.user.info: expected user:password",
        ),
        (
            {"schema.registry.url": "http://h", "bearer.auth.credentials.source": "STATIC_TOKEN"},
            "value.converter.bearer.auth.token is not set",
        ),
        (
            {"schema.registry.url": "http://h", "bearer.auth.credentials.source": "OAUTHBEARER"},
            "value.converter.bearer.auth.issuer.endpoint.url is not set, and the login with OAuth needs it",
        ),
        (
            {"schema.registry.url": "https://h", "schema.registry.ssl.truststore.location": "/none"},
            "schema.registry.ssl.truststore.location: /none cannot be read",
        ),
    ],
)
def test_keys_to_correct_are_named(options: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        confluent_access(options, PREFIX)


@pytest.mark.stack
def test_the_real_registry(registry: Settings) -> None:
    client = RegistryClient(RegistryAccess((registry.registry_url,)))
    address = {"type": "record", "name": "Address", "namespace": "x", "fields": [{"name": "city", "type": "string"}]}
    person = {"type": "record", "name": "Person", "fields": [{"name": "home", "type": "x.Address"}]}
    client.register("address", json.dumps(address))
    reference = {"name": "x.Address", "subject": "address", "version": 1}
    number = client.register("people-value", json.dumps(person), references=[reference])
    found = client.schema(SchemaId("id", number))
    assert json.loads(found.text) == person
    assert [(name, json.loads(text)) for name, text in found.references] == [("x.Address", address)]
    assert client.version("people-value", number) == 1
    assert client.version("other", number) is None
    with pytest.raises(NotFound, match="40403|not found"):
        client.schema(SchemaId("id", 123456))
    wrong = RegistryClient(RegistryAccess((registry.registry_url.removesuffix("/apis/ccompat/v7"),)))
    with pytest.raises(ConfigError, match="not that of a schema registry"):
        wrong.schema(SchemaId("id", number))

    own = f"http://{LOOPBACK}:{registry.registry_port}"
    apicurio = RegistryClient(apicurio_access({"apicurio.registry.url": own}, PREFIX))
    again = apicurio.schema(SchemaId("contentId", number))
    assert json.loads(again.text) == person
    assert [(name, json.loads(text)) for name, text in again.references] == [("x.Address", address)]
    with pytest.raises(NotFound, match="No content with ID"):
        apicurio.schema(SchemaId("contentId", 123456))


@pytest.mark.parametrize(
    ("urls", "token_url", "trusts"),
    [
        (("http://a", "http://b"), "", False),
        (("http://a", "https://b"), "", True),
        (("http://a",), "http://t", False),
        (("http://a",), "https://t", True),
    ],
)
def test_certificates_are_read_only_where_an_address_needs_them(
    urls: tuple[str, ...], token_url: str, trusts: bool
) -> None:
    oauth = ClientCredentials(token_url, "k", "c", "s") if token_url else None
    found = RegistryAccess(urls, oauth=oauth).tls()
    if trusts:
        assert found is True
    else:
        assert isinstance(found, ssl.SSLContext)
        assert (found.verify_mode, found.cert_store_stats()["x509_ca"]) == (ssl.CERT_REQUIRED, 0)
