"""Logins with a token from an endpoint (`sasl.mechanism=OAUTHBEARER`), in one form: in `sasl.jaas.config` (KIP-768).

Since Kafka 4.1 a login may stand in keys of its own as well (KIP-1139).
"""

from __future__ import annotations

from collections.abc import Mapping

from frazil.text.quoting import quoted

HANDLER = "sasl.login.callback.handler.class"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
_JAAS = "sasl.jaas.config"
_PACKAGE = "org.apache.kafka.common.security.oauthbearer."
_LOGIN = f"{_PACKAGE}OAuthBearerLoginModule required;"
_CALLBACK = f"{_PACKAGE}OAuthBearerLoginCallbackHandler"
_CALLBACK_3 = f"{_PACKAGE}secured.OAuthBearerLoginCallbackHandler"
"""Name of the callback until Kafka 4.0."""
_OPTIONS = {
    "sasl.oauthbearer.client.credentials.client.id": "clientId",
    "sasl.oauthbearer.client.credentials.client.secret": "clientSecret",
    "sasl.oauthbearer.scope": "scope",
}


def with_token_login(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Settings of a client with what it needs to ask the token endpoint that they name; others as they are.

    The class that asks is filled in: Kafka's default makes tokens without a signature. Keys of KIP-1139 become options
    of the login, which they win for.
    """
    if settings.get("sasl.mechanism", "").strip().upper() != "OAUTHBEARER" or not settings.get(ENDPOINT, "").strip():
        return settings
    found = {key: value for key, value in settings.items() if key not in _OPTIONS}
    options = [f"{name}={quoted(settings[key].strip())}" for key, name in _OPTIONS.items() if settings.get(key)]
    if options:
        login = settings.get(_JAAS, "").strip() or _LOGIN
        found[_JAAS] = f"{login.removesuffix(';').rstrip()} {' '.join(options)};"
    if settings.get(HANDLER, "").strip() in ("", _CALLBACK_3):
        found[HANDLER] = _CALLBACK
    return found
