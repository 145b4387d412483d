"""Addresses of a Kafka cluster, with what its clients need to be let in (`security.*`, `sasl.*`, `ssl.*`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

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


Client = Literal["consumer", "producer", "admin"]

_VARIABLES = (
    "KAFKA_SECURITY_PROTOCOL",
    "KAFKA_SASL_MECHANISM",
    "KAFKA_SASL_USERNAME",
    "KAFKA_SASL_PASSWORD",
    "KAFKA_SASL_JAAS_CONFIG",
    "KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL",
    "KAFKA_SSL_TRUSTSTORE_LOCATION",
    "KAFKA_SSL_TRUSTSTORE_TYPE",
    "KAFKA_SSL_TRUSTSTORE_PASSWORD",
    "KAFKA_SSL_KEYSTORE_LOCATION",
    "KAFKA_SSL_KEYSTORE_TYPE",
    "KAFKA_SSL_KEYSTORE_PASSWORD",
    "KAFKA_SSL_KEY_PASSWORD",
    "KAFKA_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM",
)
CLIENTS: tuple[Client, ...] = ("consumer", "producer", "admin")
_STORES = ("ssl.truststore.", "ssl.keystore.")
_SECURITY = ("security.", "sasl.", "ssl.")
_PROTOCOL = "security.protocol"
_ALGORITHM = "ssl.endpoint.identification.algorithm"
_NOTHING: Mapping[str, str] = MappingProxyType({})


def is_security(key: str) -> bool:
    """Whether a client setting is about who may connect, and how."""
    return key.startswith(_SECURITY)


class Bootstrap(str):
    """`host:port,…`, usable wherever a text is, and the settings of each kind of client in Kafka's own spelling.

    What is shown of it is the addresses alone.
    """

    _settings: Mapping[str, Mapping[str, str]]
    own_protocols: Mapping[str, str]
    """Keys `….override.security.protocol` of the connector that sees the cluster so, and their values."""
    embedded: bool
    """Whether it is the broker of the home, which `start` starts."""

    def __new__(
        cls,
        servers: str,
        settings: Mapping[str, Mapping[str, str]] | None = None,
        own_protocols: Mapping[str, str] | None = None,
        *,
        embedded: bool = False,
    ) -> Bootstrap:
        self = str.__new__(cls, servers)
        self.embedded = embedded
        self._settings = settings or {}
        self.own_protocols = own_protocols or {}
        return self

    @classmethod
    def of(cls, servers: str, properties: Mapping[str, str], *, embedded: bool = False) -> Bootstrap:
        """The cluster at `servers`. Keys of a worker: bare ones are for every client, those that begin with
        `consumer.`, `producer.` or `admin.` for one kind, which they win for; keys that are not about security are
        left out.
        """
        common = _chosen(properties, "")
        return cls(
            servers, {kind: _over(common, _chosen(properties, f"{kind}.")) for kind in CLIENTS}, embedded=embedded
        )

    def overridden(self, config: Mapping[str, str]) -> Bootstrap:
        """The cluster as a connector sees it: `consumer.override.*`, `producer.override.*` and `admin.override.*` of
        its configuration win over what the worker has."""
        own = {kind: _chosen(config, f"{kind}.override.") for kind in CLIENTS}
        protocols = {f"{kind}.override.{_PROTOCOL}": own[kind][_PROTOCOL] for kind in CLIENTS if _PROTOCOL in own[kind]}
        settings: dict[str, Mapping[str, str]] = {kind: _over(self.settings(kind), own[kind]) for kind in CLIENTS}
        return Bootstrap(str(self), settings, protocols, embedded=self.embedded)

    def identity(self, client: Client) -> tuple[object, ...]:
        """Identity, equal where clients of this kind see the same cluster in the same way."""
        return str(self), tuple(sorted(self.settings(client).items()))

    def settings(self, client: Client) -> Mapping[str, str]:
        """Security settings of one kind of client, in the spelling of Kafka's Java clients."""
        return with_token_login(self._settings.get(client, _NOTHING))


def _over(base: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """`own` settings over `base`; a store is one thing, so one that is named anew keeps neither type nor password."""
    renewed = tuple(store for store in _STORES if any(key.startswith(store) for key in own))
    return {**{key: value for key, value in base.items() if not (renewed and key.startswith(renewed))}, **own}


def _chosen(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Security settings below a prefix, without it."""
    below = {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
    return {key: value for key, value in below.items() if is_security(key)}


def kafka_security(env: Mapping[str, str]) -> dict[str, str]:
    """Security settings from the environment: `KAFKA_SASL_MECHANISM` is `sasl.mechanism`, and so on.

    `KAFKA_SASL_USERNAME` and `KAFKA_SASL_PASSWORD` stand for the `sasl.jaas.config` of the mechanism; the word `none`
    in `KAFKA_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM` is Kafka's empty value, which a variable cannot have.
    """
    found = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): env[name].strip()
        for name in _VARIABLES
        if env.get(name, "").strip()
    }
    if found.get(_ALGORITHM, "").lower() == "none":
        found[_ALGORITHM] = ""
    user, password = found.pop("sasl.username", ""), found.pop("sasl.password", "")
    if user or password:
        plain = found.get("sasl.mechanism", "").upper() == "PLAIN"
        module = "plain.PlainLoginModule" if plain else "scram.ScramLoginModule"
        options = f"username={quoted(user)} password={quoted(password)}"
        found.setdefault("sasl.jaas.config", f"org.apache.kafka.common.security.{module} required {options};")
    return found
