"""Security settings of Kafka's Java clients in the words of librdkafka, which frazil's own clients are made of.

Source of the keys: the configuration references of Kafka 4.3 and of librdkafka 2. The runtime of source connectors
takes the Java settings as they are.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError

from frazil.clients.kafka.certificates import identity, trusted
from frazil.environment.bootstrap import Bootstrap, Client
from frazil.errors import ConfigError

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LOGIN = re.compile(r"\s*([\w.$]+)\s+(required|requisite|sufficient|optional)\b(.*?);\s*", re.IGNORECASE | re.DOTALL)
_OPTION = re.compile(r"""([\w.\-]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;"']+))""")
_refusals: dict[str, str] = {}
_MODULES = "org.apache.kafka.common.security."


def secured(bootstrap: str, client: Client) -> dict[str, str]:
    """`bootstrap.servers` and the security settings of a librdkafka client of this kind.

    Raises ConfigError, which names the key that cannot be used and no value of a secret one.
    """
    settings = bootstrap.settings(client) if isinstance(bootstrap, Bootstrap) else {}
    return {"bootstrap.servers": str(bootstrap), **translated(settings)}


def watched(bootstrap: str, client: Client) -> dict[str, Any]:
    """Secured settings that also note for `refusal` why brokers do not let the client in."""
    return {**secured(bootstrap, client), "error_cb": lambda error: _note(str(bootstrap), error)}


def refusal(bootstrap: str) -> str:
    """Take the reason why brokers refused the last watched client, which only sees a timeout; empty without one."""
    return _refusals.pop(str(bootstrap), "")


def refusal_in(error: KafkaError) -> str:
    """Reason why a broker does not let a client in, when the error says so; else empty."""
    refused = error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL)  # noqa: SLF001 - librdkafka's own names
    return error.str().removesuffix(".") if refused else ""


def _note(servers: str, error: KafkaError) -> None:
    if reason := refusal_in(error):
        _refusals[servers] = reason


def translated(settings: Mapping[str, str]) -> dict[str, str]:
    """Java settings as librdkafka's. Without `security.protocol` nothing is secured, as in Kafka."""
    protocol = settings.get("security.protocol", "").strip().upper() or "PLAINTEXT"
    if protocol not in _PROTOCOLS:
        raise ConfigError(f"security.protocol is {protocol}; it has to be one of {', '.join(_PROTOCOLS)}")
    config = {"security.protocol": protocol.lower()} if protocol != "PLAINTEXT" else {}
    if protocol.endswith("SSL"):
        config |= _tls(settings)
    if protocol.startswith("SASL"):
        config |= _sasl(settings)
    return config


def _tls(settings: Mapping[str, str]) -> dict[str, str]:
    config: dict[str, str] = {}
    authorities = trusted(settings)
    if authorities is not None:
        config["ssl.ca.pem"] = authorities
    own = identity(settings)
    if own is not None:
        config |= {"ssl.certificate.pem": own.certificates, "ssl.key.pem": own.key}
    algorithm = settings.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in ("", "https"):
        raise ConfigError(
            f"ssl.endpoint.identification.algorithm is {algorithm}; it is https, or empty to check no name"
        )
    return {**config, "ssl.endpoint.identification.algorithm": algorithm or "none"}


def _sasl(settings: Mapping[str, str]) -> dict[str, str]:
    mechanism = settings.get("sasl.mechanism", "GSSAPI").strip().upper()
    make = _MECHANISMS.get(mechanism)
    if make is None:
        raise ConfigError(f"sasl.mechanism is {mechanism}; frazil's clients have {', '.join(_MECHANISMS)}")
    return {"sasl.mechanism": mechanism, **make(settings, mechanism)}


def _password_login(settings: Mapping[str, str], mechanism: str) -> dict[str, str]:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    options = _login(settings, module)
    for name in ("username", "password"):
        if not options.get(name):
            raise ConfigError(f"sasl.jaas.config has no {name}, which {mechanism} needs")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _token_login(settings: Mapping[str, str], mechanism: str) -> dict[str, str]:
    """Client credentials at a token endpoint (KIP-768); librdkafka calls it the method `oidc`."""
    endpoint = settings.get("sasl.oauthbearer.token.endpoint.url", "").strip()
    if not endpoint:
        raise ConfigError(f"sasl.oauthbearer.token.endpoint.url is not set; {mechanism} gets its tokens there")
    options = _login(settings, "oauthbearer.OAuthBearerLoginModule")
    for name in ("clientId", "clientSecret"):
        if not options.get(name):
            raise ConfigError(f"sasl.jaas.config has no {name}, which {mechanism} needs")
    config = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": endpoint,
        "sasl.oauthbearer.client.id": options["clientId"],
        "sasl.oauthbearer.client.secret": options["clientSecret"],
    }
    if options.get("scope"):
        config["sasl.oauthbearer.scope"] = options["scope"]
    extensions = {name.removeprefix("extension_"): v for name, v in options.items() if name.startswith("extension_")}
    if extensions:
        config["sasl.oauthbearer.extensions"] = ",".join(f"{name}={value}" for name, value in extensions.items())
    authorities = trusted(settings)
    return config if authorities is None else {**config, "https.ca.pem": authorities}


def _kerberos_login(settings: Mapping[str, str], mechanism: str) -> dict[str, str]:
    raise ConfigError(
        f"sasl.mechanism is {mechanism} (the default of Kafka when it is not set): the Kafka library that frazil's own "
        "clients are made of is built without Kerberos. Use SCRAM, PLAIN or OAUTHBEARER, or TLS certificates."
    )


_MECHANISMS: Mapping[str, Callable[[Mapping[str, str], str], dict[str, str]]] = {
    "PLAIN": _password_login,
    "SCRAM-SHA-256": _password_login,
    "SCRAM-SHA-512": _password_login,
    "OAUTHBEARER": _token_login,
    "GSSAPI": _kerberos_login,
}


def _login(settings: Mapping[str, str], module: str) -> dict[str, str]:
    """Options of `sasl.jaas.config`, which has to name this login module."""
    text = settings.get("sasl.jaas.config", "")
    if not text.strip():
        raise ConfigError(f"sasl.jaas.config is not set; it names {_MODULES}{module} and its options")
    found = _LOGIN.fullmatch(text)
    if found is None:
        raise ConfigError('sasl.jaas.config is not of the form `class required name="value" …;`')
    if found[1] != _MODULES + module:
        raise ConfigError(f"sasl.jaas.config names {found[1]}; this sasl.mechanism needs {_MODULES}{module}")
    options = found[3]
    if _OPTION.sub("", options).strip():
        raise ConfigError('sasl.jaas.config has something that is no option of the form name="value"')
    return {one[1]: _unquoted(one) for one in _OPTION.finditer(options)}


def _unquoted(option: re.Match[str]) -> str:
    quoted = option[2] if option[2] is not None else option[3]
    return option[4] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
