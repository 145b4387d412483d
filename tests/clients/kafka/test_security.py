from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from frazil.clients.kafka.client import client_config
from frazil.clients.kafka.security import secured, translated
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import ConfigError
from tests.tls import Authority

MODULES = "org.apache.kafka.common.security."
SCRAM = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": f"{MODULES}scram.ScramLoginModule required\n"
    'username="o\\"ps;" password=\'a b\' tokenauth=false ;',
}


def test_without_a_protocol_nothing_is_secured() -> None:
    assert translated({}) == {}
    assert translated({"security.protocol": "PLAINTEXT", "sasl.mechanism": "PLAIN"}) == {}
    assert secured("a:1", "admin") == {"bootstrap.servers": "a:1"}


def test_user_and_password_come_from_the_login() -> None:
    expected = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": 'o"ps;',
        "sasl.password": "a b",
    }
    assert translated(SCRAM) == expected
    bootstrap = Bootstrap.of("a:1", {f"consumer.{key}": value for key, value in SCRAM.items()})
    assert secured(bootstrap, "consumer") == {"bootstrap.servers": "a:1", **expected}
    assert secured(bootstrap, "producer") == {"bootstrap.servers": "a:1"}


def assert_taken(config: Mapping[str, str]) -> None:
    """librdkafka takes the settings; it needs an address where something listens."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        assert AdminClient(client_config(Bootstrap.of(f"127.0.0.1:{nobody.getsockname()[1]}", config))) is not None


def test_tokens_come_from_an_endpoint() -> None:
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token",
        "sasl.jaas.config": f'{MODULES}oauthbearer.OAuthBearerLoginModule required clientId="c" clientSecret="s" '
        'scope="kafka" extension_logicalCluster="lkc-1";',
    }
    assert translated(config) == {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token",
        "sasl.oauthbearer.client.id": "c",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1",
    }
    assert_taken(config)


def test_certificates_are_passed_as_text(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    config = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.ca_file),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.pem(authority.client, "c")),
        "ssl.endpoint.identification.algorithm": "",
    }
    found = translated(config)
    assert found.keys() == {
        "security.protocol",
        "ssl.ca.pem",
        "ssl.certificate.pem",
        "ssl.key.pem",
        "ssl.endpoint.identification.algorithm",
    }
    assert found["ssl.endpoint.identification.algorithm"] == "none"
    assert_taken(config)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"security.protocol": "TLS"}, "security.protocol is TLS; it has to be one of PLAINTEXT, SSL"),
        ({"sasl.mechanism": "MAGIC"}, "sasl.mechanism is MAGIC; frazil's clients have PLAIN, SCRAM"),
        ({"sasl.mechanism": "GSSAPI"}, "is built without Kerberos"),
        ({"sasl.mechanism": "PLAIN"}, f"sasl.jaas.config names {MODULES}scram.ScramLoginModule; this sasl.mechanism"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "sasl.oauthbearer.token.endpoint.url is not set"),
        ({"sasl.jaas.config": ""}, "sasl.jaas.config is not set"),
        ({"sasl.jaas.config": "top-secret"}, "sasl.jaas.config is not of the form"),
        ({"sasl.jaas.config": f"{MODULES}scram.ScramLoginModule required top-secret;"}, "something that is no option"),
        ({"sasl.jaas.config": f"{MODULES}scram.ScramLoginModule required username=a;"}, "has no password"),
        (
            {"security.protocol": "SASL_SSL", "ssl.endpoint.identification.algorithm": "dns"},
            "ssl.endpoint.identification.algorithm is dns",
        ),
    ],
)
def test_errors_name_the_key_and_no_secret(changes: Mapping[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        translated({**SCRAM, **changes})
    assert message in str(error.value)
    assert "top-secret" not in str(error.value)
