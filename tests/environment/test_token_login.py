from __future__ import annotations

import pytest

from frazil.environment.bootstrap import Bootstrap
from frazil.environment.token_login import with_token_login

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
