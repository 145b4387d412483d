"""A broker with TLS and logins: frazil's own clients, a connector from end to end, and where passwords are not."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.cli.verbs.status_look import look
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable
from frazil.stack.local import LocalStack
from tests.harness import EVENTS, Pipe, event, messages, own_worker, produce
from tests.isolation import isolated_settings
from tests.rest_worker import rest_worker
from tests.secure_kafka import USER_PASSWORD, SecureKafka, secure_kafka
from tests.tls import PASSWORD
from tests.token_endpoint import CLIENT, CLIENT_SECRET, SCOPE
from tests.waits import eventually

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with secure_kafka(tmp_path_factory.mktemp("secure")) as running:
        yield running


@pytest.mark.parametrize("how", ["scram", "plain", "token", "certificate"])
def test_each_way_to_connect(secure: SecureKafka, tmp_path: Path, how: str) -> None:
    bootstrap = isolated_settings(tmp_path, **getattr(secure, how)()).bootstrap_servers
    topic = f"records-{how}"
    assert kafka_topics.ensure_topics(bootstrap, {topic: (2, {})}) == {topic: True}
    assert produce(bootstrap, topic, (b"%d" % n for n in range(100)), 100) == 100
    assert sum(kafka_offsets.end_offsets(bootstrap, [topic]).values()) == 100
    assert len(messages(bootstrap, topic)) == 100
    kafka_groups.set_group_offsets(bootstrap, "group", {(topic, 0): 7})
    assert kafka_groups.group_offsets(bootstrap, "group", [(topic, 0), (topic, 1)]) == {(topic, 0): 7}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"KAFKA_SASL_PASSWORD": "wrong-secret"}, "Authentication failed"),
        pytest.param(
            {"KAFKA_SSL_TRUSTSTORE_LOCATION": "", "KAFKA_SSL_TRUSTSTORE_TYPE": ""},
            "certificate verify failed",
            marks=pytest.mark.faults,
        ),
    ],
)
def test_who_is_not_let_in_is_told_why(
    secure: SecureKafka, tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    bootstrap = isolated_settings(tmp_path, **secure.scram() | changes).bootstrap_servers
    with pytest.raises(ServiceUnavailable) as error:
        kafka_client.cluster_id(bootstrap, timeout=3)
    with pytest.raises(ServiceUnavailable) as other:
        produce(bootstrap, "records", iter([b"1"]), 1)
    for said in (str(error.value), str(other.value)):
        assert "does not let this client in" in said
        assert message in said
        assert "secret" not in said


ESCAPED = USER_PASSWORD.replace('"', '\\"')


def password_overrides(secure: SecureKafka, *clients: str) -> dict[str, str]:
    """Clients of a connector that log in with PLAIN."""
    keys = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in secure.plain().items()
        if "USERNAME" not in name and "PASSWORD" not in name and "SERVERS" not in name
    }
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    keys["sasl.jaas.config"] = f'{jaas} username="frazil" password="{ESCAPED}";'
    return {f"{client}.override.{key}": value for client in clients for key, value in keys.items()}


def token_overrides(secure: SecureKafka) -> dict[str, str]:
    """A consumer that shows tokens, in the keys of Kafka 4.1; the worker's trust store counts for it."""
    keys = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.oauthbearer.token.endpoint.url": secure.tokens.token_url,
        "sasl.oauthbearer.client.credentials.client.id": CLIENT,
        "sasl.oauthbearer.client.credentials.client.secret": CLIENT_SECRET,
        "sasl.oauthbearer.scope": SCOPE,
    }
    return {f"consumer.override.{key}": value for key, value in keys.items()}


def test_verbs_read_with_the_login_and_the_group_of_the_connector(
    secure: SecureKafka, stack: LocalStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's own login, which is none, is not let in."""
    topic = "own-login"
    allowed = isolated_settings(tmp_path, **secure.scram()).bootstrap_servers
    kafka_topics.ensure_topics(allowed, {topic: (1, {})})
    assert produce(allowed, topic, (event(n) for n in range(5)), 5) == 5
    kafka_groups.set_group_offsets(allowed, "mine-4711", {(topic, 0): 3})
    catalog = connect(stack.settings.catalog_properties())
    catalog.create_namespace(topic)
    catalog.create_table(f"{topic}.events", EVENTS)
    config = {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": topic,
        "iceberg.tables": f"{topic}.events",
        **{f"iceberg.catalog.{key}": value for key, value in stack.settings.catalog_properties().items()},
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "consumer.override.group.id": "mine-${env:NUMBER}",
        **password_overrides(secure, "consumer", "admin"),
    }
    file = tmp_path / "connector.json"
    file.write_text(json.dumps({"name": "c", "config": config}))
    with rest_worker(tmp_path) as (url, _):
        own = {
            "KAFKA_BOOTSTRAP_SERVERS": secure.sasl,
            "KAFKA_CONNECT_URL": url,
            "CONNECT_CONFIG_PROVIDERS": "env",
            "CONNECT_CONFIG_PROVIDERS_ENV_CLASS": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
            "NUMBER": "4711",
        }
        env = {**stack.settings.env, **own, "FRAZIL_ENV_FILE": os.devnull}
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        sampled = CliRunner().invoke(app, ["validate", str(file), "--sample", "5", "-o", "json"])
        assert sampled.exit_code == 0, sampled
        assert [each["verdict"] for each in json.loads(sampled.stdout)["sample"]["records"]] == ["stored"] * 5
        with ConnectClient(url) as client:
            client.put_config("c", config)
        [row] = [row for row in look(Settings(env)).connectors if row.name == "c"]
        assert row.lag == 2


@pytest.mark.faults
@pytest.mark.spark
def test_a_connector_from_end_to_end(secure: SecureKafka, stack: LocalStack, tmp_path: Path) -> None:
    with own_worker(stack.settings, tmp_path / "worker", **secure.scram()) as worker:
        pipe = Pipe(worker.settings, "secured").create()
        worker.client.put_config(
            pipe.connector, pipe.config(errors__tolerance="all") | password_overrides(secure, "consumer")
        )
        with_token = Pipe(worker.settings, "with_token").create()
        worker.client.put_config(with_token.connector, with_token.config(**token_overrides(secure)))
        with_token.send(event(n) for n in range(10))
        pipe.send([*(event(n) for n in range(50)), b"no json"])
        eventually(lambda: len(pipe.ids()) == 50)
        eventually(lambda: pipe.lag() == 0)
        eventually(lambda: len(with_token.ids()) == 10)
        assert any("Java" in client for client in secure.tokens.given), secure.tokens.given
        assert len(messages(worker.settings.bootstrap_servers, "secured-dlq")) == 1
        everywhere = worker.log() + str(worker.client.status(pipe.connector))
        for process in (psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):  # a zombie is one; it has no arguments
                everywhere += " ".join(process.cmdline())
        assert "org.apache.spark.deploy.SparkSubmit" in everywhere
        for secret in (USER_PASSWORD, ESCAPED, PASSWORD, CLIENT_SECRET):
            assert secret not in everywhere
