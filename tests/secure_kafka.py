"""A real broker that asks who connects: SCRAM, PLAIN and tokens over TLS, and certificates, on two listeners."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from frazil.clients.kafka import client as kafka_client
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import LOOPBACK
from frazil.errors import ServiceUnavailable
from frazil.stack.jars import KAFKA, resolve
from frazil.stack.java import find_java
from frazil.stack.ports import Port, unused
from frazil.stack.process import minimal_env
from frazil.stack.service import Service
from tests.isolation import isolated_settings
from tests.tls import PASSWORD, Authority
from tests.token_endpoint import CLIENT, CLIENT_SECRET, SCOPE, TokenEndpoint, token_endpoint

USER, USER_PASSWORD = "frazil", 'top-"secret";4711'
_MODULES = "org.apache.kafka.common.security."


@dataclass(frozen=True)
class SecureKafka:
    """Addresses of the listeners, and the authority that has signed the broker's certificate."""

    sasl: str
    tls: str
    authority: Authority
    tokens: TokenEndpoint

    def scram(self) -> dict[str, str]:
        """Variables of a client with SCRAM-SHA-512 whose trust store is JKS."""
        return {
            "KAFKA_BOOTSTRAP_SERVERS": self.sasl,
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "KAFKA_SASL_USERNAME": USER,
            "KAFKA_SASL_PASSWORD": USER_PASSWORD,
            "KAFKA_SSL_TRUSTSTORE_LOCATION": str(self.authority.trust_jks),
            "KAFKA_SSL_TRUSTSTORE_PASSWORD": PASSWORD,
        }

    def plain(self) -> dict[str, str]:
        return {
            **self.scram(),
            "KAFKA_SASL_MECHANISM": "PLAIN",
            "KAFKA_SSL_TRUSTSTORE_TYPE": "PEM",
            "KAFKA_SSL_TRUSTSTORE_LOCATION": str(self.authority.ca_file),
        }

    def token(self) -> dict[str, str]:
        """Variables of a client that shows a token which it gets at the endpoint."""
        client = f'clientId="{CLIENT}" clientSecret="{CLIENT_SECRET}" scope="{SCOPE}"'
        return {
            "KAFKA_BOOTSTRAP_SERVERS": self.sasl,
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SASL_MECHANISM": "OAUTHBEARER",
            "KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL": self.tokens.token_url,
            "KAFKA_SASL_JAAS_CONFIG": f"{_MODULES}oauthbearer.OAuthBearerLoginModule required {client};",
            "KAFKA_SSL_TRUSTSTORE_TYPE": "PEM",
            "KAFKA_SSL_TRUSTSTORE_LOCATION": str(self.authority.ca_file),
        }

    def certificate(self) -> dict[str, str]:
        """Variables of a client that shows a certificate from a PKCS12 store."""
        return {
            "KAFKA_BOOTSTRAP_SERVERS": self.tls,
            "KAFKA_SECURITY_PROTOCOL": "SSL",
            "KAFKA_SSL_TRUSTSTORE_LOCATION": str(self.authority.trust_pkcs12),
            "KAFKA_SSL_TRUSTSTORE_PASSWORD": PASSWORD,
            "KAFKA_SSL_KEYSTORE_LOCATION": str(self.authority.pkcs12(self.authority.client, "client")),
            "KAFKA_SSL_KEYSTORE_PASSWORD": PASSWORD,
        }


@contextmanager
def secure_kafka(home: Path) -> Iterator[SecureKafka]:
    """Start the broker and the endpoint of its tokens, and stop them in the end."""
    with token_endpoint() as tokens:
        yield from _broker(home, tokens)


def _broker(home: Path, tokens: TokenEndpoint) -> Iterator[SecureKafka]:
    settings = isolated_settings(home)
    java = find_java(settings.env)
    resolve(KAFKA, java, settings.cache, lambda text: None, settings.env)
    authority = Authority(home)
    sasl, tls, controller = unused(3)
    found = SecureKafka(f"{LOOPBACK}:{sasl}", f"{LOOPBACK}:{tls}", authority, tokens)
    file = home / "server.properties"
    properties = _properties(home, authority, sasl, tls, controller) | _tokens(tokens)
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.keys_url}"
    jvm = [str(java), "-Xmx512m", allowed, "-cp", f"{KAFKA.folder(settings.cache)}/*"]
    format_ = ["kafka.tools.StorageTool", "format", "--standalone", "--cluster-id=MkU3OEVBNTcwNTJENDM2Qk"]
    login = f"SCRAM-SHA-512=[name={USER},password={USER_PASSWORD}]"
    subprocess.run([*jvm, *format_, "--config", str(file), "--add-scram", login], check=True, capture_output=True)
    client = isolated_settings(home, **found.scram()).bootstrap_servers
    service = Service(
        name="secure-kafka",
        home=home,
        command=lambda progress: [*jvm, "kafka.Kafka", str(file)],
        ready=lambda: _missing(client),
        ports=(Port(sasl, "SASL"), Port(tls, "TLS"), Port(controller, "CONTROLLER")),
        env=minimal_env(settings.env),
    )
    service.start(lambda text: None)
    try:
        yield found
    finally:
        service.stop()


def _properties(home: Path, authority: Authority, sasl: int, tls: int, controller: int) -> dict[str, str]:
    quoted = USER_PASSWORD.replace('"', '\\\\"')
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"{LOOPBACK}:{controller}",
        "listeners": f"SASL_SSL://{LOOPBACK}:{sasl},SSL://{LOOPBACK}:{tls},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": f"SASL_SSL://{LOOPBACK}:{sasl},SSL://{LOOPBACK}:{tls}",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN,OAUTHBEARER",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{_MODULES}scram.ScramLoginModule required;",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{_MODULES}plain.PlainLoginModule required user_{USER}="{quoted}";'
        ),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.pem(authority.server, "server")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.ca_file),
        "listener.name.ssl.ssl.client.auth": "required",
        "log.dirs": str(home / "kafka"),
        "auto.create.topics.enable": "false",
        "message.max.bytes": str(16 << 20),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
    }


def _tokens(tokens: TokenEndpoint) -> dict[str, str]:
    """How the broker checks tokens: by the endpoint's public key."""
    own, module = "listener.name.sasl_ssl.oauthbearer.", f"{_MODULES}oauthbearer.OAuthBearer"
    return {
        f"{own}sasl.jaas.config": f"{module}LoginModule required;",
        f"{own}sasl.server.callback.handler.class": f"{module}ValidatorCallbackHandler",
        f"{own}sasl.oauthbearer.jwks.endpoint.url": tokens.keys_url,
        f"{own}sasl.oauthbearer.expected.audience": "kafka",
    }


def _missing(bootstrap: Bootstrap) -> str | None:
    try:
        kafka_client.cluster_id(bootstrap, timeout=2)
    except ServiceUnavailable as error:
        return str(error)
    return None
