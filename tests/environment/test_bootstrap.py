from __future__ import annotations

import pickle

import pytest

from frazil.environment.bootstrap import CLIENTS, Bootstrap, kafka_security, with_token_login

SECURE = Bootstrap.of(
    "a:1,b:2",
    {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.password": "top-secret",
        "producer.sasl.mechanism": "PLAIN",
        "producer.acks": "1",
        "group.id": "g",
    },
)


def test_it_is_a_text_that_keeps_its_secrets() -> None:
    assert SECURE == "a:1,b:2"
    assert "top-secret" not in f"{SECURE} {SECURE!r} {[SECURE]}"


def test_bare_keys_are_for_every_client() -> None:
    common = {"security.protocol": "SASL_SSL", "ssl.truststore.password": "top-secret"}
    assert SECURE.settings("consumer") == SECURE.settings("admin") == common
    assert SECURE.settings("producer") == {**common, "sasl.mechanism": "PLAIN"}
    assert all(Bootstrap("a:1").settings(kind) == {} for kind in CLIENTS)


def test_protocols_of_a_connector_are_known_by_their_keys() -> None:
    assert SECURE.own_protocols == {}
    own = SECURE.overridden({"consumer.override.security.protocol": "SSL", "admin.override.ssl.key.password": "p"})
    assert own.own_protocols == {"consumer.override.security.protocol": "SSL"}


def test_a_connector_overrides_for_itself() -> None:
    own = SECURE.overridden(
        {"consumer.override.sasl.mechanism": "SCRAM-SHA-256", "consumer.override.max.poll.records": "1", "topics": "t"}
    )
    assert own == SECURE
    assert own.settings("consumer")["sasl.mechanism"] == "SCRAM-SHA-256"
    assert "max.poll.records" not in own.settings("consumer")
    assert own.settings("producer") == SECURE.settings("producer")
    assert "sasl.mechanism" not in SECURE.settings("consumer")


def test_a_store_is_one_thing() -> None:
    store = {"ssl.truststore.location": "/a.jks", "ssl.truststore.password": "p", "ssl.truststore.type": "JKS"}
    own = Bootstrap.of("a:1", {**store, "ssl.key.password": "k"}).overridden(
        {"consumer.override.ssl.truststore.location": "/b.pem", "consumer.override.ssl.truststore.type": "PEM"}
    )
    assert own.settings("consumer") == {
        "ssl.truststore.location": "/b.pem",
        "ssl.truststore.type": "PEM",
        "ssl.key.password": "k",
    }
    assert own.settings("producer") == {**store, "ssl.key.password": "k"}


def test_it_goes_to_other_processes_whole() -> None:
    copy = pickle.loads(pickle.dumps(SECURE))  # noqa: S301 - of this test's own
    assert (copy, copy.settings("producer")) == (SECURE, SECURE.settings("producer"))


def test_user_and_password_make_the_login_of_the_mechanism() -> None:
    env = {"KAFKA_SASL_USERNAME": "ops", "KAFKA_SASL_PASSWORD": 'a"b\\c;', "KAFKA_SASL_MECHANISM": "plain"}
    assert kafka_security(env)["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="ops" password="a\\"b\\\\c;";'
    )
    assert (
        "scram.ScramLoginModule" in kafka_security({**env, "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512"})["sasl.jaas.config"]
    )
    assert kafka_security({**env, "KAFKA_SASL_JAAS_CONFIG": "own"})["sasl.jaas.config"] == "own"


def test_none_is_the_empty_algorithm() -> None:
    key = "ssl.endpoint.identification.algorithm"
    assert kafka_security({"KAFKA_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": "None"}) == {key: ""}
    assert kafka_security({"KAFKA_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": "https"}) == {key: "https"}


PACKAGE = "org.apache.kafka.common.security.oauthbearer."
ENDPOINT = {
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token",
}
HANDLER = {"sasl.login.callback.handler.class": f"{PACKAGE}OAuthBearerLoginCallbackHandler"}
JAAS = {"sasl.jaas.config": f'{PACKAGE}OAuthBearerLoginModule required clientId="c" clientSecret="s";'}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sasl.mechanism": "PLAIN", "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token"},
        {"sasl.mechanism": "OAUTHBEARER"},
    ],
)
def test_other_logins_are_left_alone(settings: dict[str, str]) -> None:
    assert with_token_login(settings) == settings


@pytest.mark.parametrize("handler", ["", f"{PACKAGE}secured.OAuthBearerLoginCallbackHandler"])
def test_the_class_that_asks_for_tokens(handler: str) -> None:
    given = {"sasl.login.callback.handler.class": handler}
    assert with_token_login({**ENDPOINT, **JAAS, **given}) == {**ENDPOINT, **JAAS, **HANDLER}
    own = {"sasl.login.callback.handler.class": "com.example.Handler"}
    assert with_token_login({**ENDPOINT, **JAAS, **own}) == {**ENDPOINT, **JAAS, **own}


def test_a_login_in_keys_of_its_own() -> None:
    keys = {
        "sasl.oauthbearer.client.credentials.client.id": "c",
        "sasl.oauthbearer.client.credentials.client.secret": 's"1',
        "sasl.oauthbearer.scope": "kafka",
    }
    login = f'{PACKAGE}OAuthBearerLoginModule required clientId="c" clientSecret="s\\"1" scope="kafka";'
    assert with_token_login({**ENDPOINT, **keys}) == {**ENDPOINT, **HANDLER, "sasl.jaas.config": login}
    named = {"sasl.jaas.config": f"{PACKAGE}OAuthBearerLoginModule required extension_a=b ;"}
    with_extension = login.replace("required ", "required extension_a=b ")
    assert with_token_login({**ENDPOINT, **keys, **named})["sasl.jaas.config"] == with_extension


def test_every_client_of_a_cluster_has_it() -> None:
    bootstrap = Bootstrap.of("a:1", {**ENDPOINT, **JAAS})
    assert bootstrap.settings("admin") == {**ENDPOINT, **JAAS, **HANDLER}
    secret = {"consumer.override.sasl.oauthbearer.client.credentials.client.secret": "t"}
    assert 'clientSecret="t";' in bootstrap.overridden(secret).settings("consumer")["sasl.jaas.config"]
    assert bootstrap.overridden(secret).settings("producer") == bootstrap.settings("producer")
