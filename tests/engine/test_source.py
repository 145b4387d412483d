from __future__ import annotations

from typing import Any

import pytest

from frazil.clients.kafka.consumer_settings import NAMES
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.engine.source import source_options, task_source
from frazil.environment.bootstrap import Bootstrap
from frazil.pipeline.source import Source
from tests.connectors.samples import MINIMAL_S3_SINK, SEED_SINK


def options(**changes: str) -> dict[str, str]:
    config = iceberg_sink_config({**SEED_SINK, **{key.replace("__", "."): value for key, value in changes.items()}})
    return source_options(config, "broker:9092", ["apilogs"], {("apilogs", 0): 7})


def test_the_seeds_connector() -> None:
    made = options()
    assert made["kafka.bootstrap.servers"] == "broker:9092"
    assert made["subscribe"] == "apilogs"
    assert made["startingOffsets"] == '{"apilogs":{"0":7}}'
    assert made["failOnDataLoss"] == "true"
    assert made["maxTriggerDelay"] == "10000ms"
    assert made["maxOffsetsPerTrigger"] == "500000"
    assert made["minOffsetsPerTrigger"] == "100000"


def test_a_pattern_is_subscribed_as_such() -> None:
    made = options(topics="", topics__regex="api.*")
    assert made["subscribePattern"] == "api.*"
    assert "subscribe" not in made


def test_a_small_batch_starts_as_soon_as_it_is_full() -> None:
    made = options(frazil__batch__max__records="500")
    assert made["maxOffsetsPerTrigger"] == made["minOffsetsPerTrigger"] == "500"


def test_a_silent_broker_is_noticed_within_45_seconds() -> None:
    made = options()
    attempts = int(made["fetchOffset.numRetries"])
    planning_ms = attempts * int(made["kafka.default.api.timeout.ms"])
    planning_ms += (attempts - 1) * int(made["fetchOffset.retryIntervalMs"])
    assert planning_ms <= 45_000
    assert int(made["kafka.request.timeout.ms"]) <= int(made["kafka.default.api.timeout.ms"])


def test_overrides_of_the_user_win() -> None:
    made = options(**{"consumer.override.max.poll.records": "1", "consumer.override.security.protocol": "SSL"})
    assert made["kafka.max.poll.records"] == "1"
    assert made["kafka.security.protocol"] == "SSL"


def test_a_longer_request_makes_the_call_around_it_longer() -> None:
    """Kafka's admin client refuses a request that may take longer than its call."""
    made = options(**{"consumer.override.request.timeout.ms": "60000"})
    assert made["kafka.request.timeout.ms"] == made["kafka.default.api.timeout.ms"] == "60000"
    made = options(**{"consumer.override.default.api.timeout.ms": "1000"})
    assert made["kafka.request.timeout.ms"] == made["kafka.default.api.timeout.ms"]


def test_overrides_are_trimmed_for_both_clients() -> None:
    """Spark looks at the isolation by itself and does not trim it."""
    assert (
        options(**{"consumer.override.isolation.level": " read_committed "})["kafka.isolation.level"]
        == (consumer(isolation__level=" read_committed ")["isolation.level"])
    )


def test_security_of_the_cluster_and_of_the_connector() -> None:
    own = {"consumer.override.sasl.mechanism": "PLAIN"}
    config = iceberg_sink_config({**SEED_SINK, **own})
    worker = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "producer.ssl.key.password": "p"}
    cluster = Bootstrap.of("broker:9092", worker)
    made = source_options(config, cluster.overridden(own), ["apilogs"], {("apilogs", 0): 7})
    assert made["kafka.bootstrap.servers"] == "broker:9092"
    assert made["kafka.security.protocol"] == "SASL_SSL"
    assert made["kafka.sasl.mechanism"] == "PLAIN"
    assert "kafka.ssl.key.password" not in made


def test_a_login_with_tokens_is_complete() -> None:
    keys = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token",
        "sasl.oauthbearer.client.credentials.client.id": "c",
    }
    own = {f"consumer.override.{key}": value for key, value in keys.items()}
    cluster = Bootstrap.of("broker:9092", {}).overridden(own)
    config = iceberg_sink_config({**SEED_SINK, **own})
    made = source_options(config, cluster, ["apilogs"], {("apilogs", 0): 7})
    assert made["kafka.sasl.jaas.config"].endswith('OAuthBearerLoginModule required clientId="c";')
    assert made["kafka.sasl.login.callback.handler.class"].endswith(".OAuthBearerLoginCallbackHandler")


def consumer(**overrides: str) -> dict[str, Any]:
    """Settings of the tasks' consumer with some `consumer.override.*`."""
    own = {"consumer.override." + key.replace("__", "."): value for key, value in overrides.items()}
    cluster = Bootstrap.of("broker:9092", {}).overridden(own)
    return dict(task_source(object_sink_config({**MINIMAL_S3_SINK, **own}), cluster, headers=False).consumer)


def test_tasks_read_what_is_there_and_commit_nothing() -> None:
    made = consumer()
    assert made["bootstrap.servers"] == "broker:9092"
    assert (made["enable.auto.commit"], made["auto.offset.reset"], made["check.crcs"]) == (False, "error", True)


def test_overrides_of_the_tasks_consumer() -> None:
    made = consumer(
        request__timeout__ms="50000",
        isolation__level="read_committed",
        receive__buffer__bytes="-1",
        max__poll__records="7",
        sasl__mechanism="PLAIN",
    )
    assert made["socket.timeout.ms"] == "50000"
    assert made["isolation.level"] == "read_committed"
    assert made["socket.receive.buffer.bytes"] == "0"
    assert not made.keys() & {"max.poll.records", "sasl.mechanism"}  # no sasl without a protocol


def test_security_of_the_tasks_consumer() -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'
    made = consumer(security__protocol="SASL_SSL", sasl__mechanism="PLAIN", sasl__jaas__config=login)
    assert (made["security.protocol"], made["sasl.username"], made["sasl.password"]) == ("sasl_ssl", "u", "p")
    assert "p" not in repr(Source(made, headers=False)).replace("Source(headers", "")


@pytest.mark.parametrize("number", [None, 0, 1, 2**31 - 1])
@pytest.mark.parametrize("name", [*NAMES])
def test_every_override_is_taken_as_java_takes_it(name: str, number: int | None) -> None:
    """The smallest and the largest number of an INT, or what else the key takes, make a client."""
    others = {
        "check.crcs": "false",
        "client.dns.lookup": "resolve_canonical_bootstrap_servers_only",
        "client.id": "me",
        "client.rack": "r1",
        "isolation.level": "read_committed",
    }
    if number is None:
        number = -1 if name.endswith(("buffer.bytes", "idle.ms", "setup.timeout.ms")) else 0
    made = consumer(**{name: others.get(name, str(number))})
    assert NAMES[name] in made


@pytest.mark.parametrize(
    ("tolerance", "asked", "read"), [("none", False, False), ("none", True, True), ("all", False, True)]
)
def test_headers_are_read_where_they_may_matter(tolerance: str, asked: bool, read: bool) -> None:
    config = iceberg_sink_config({**SEED_SINK, "errors.tolerance": tolerance})
    assert task_source(config, "broker:9092", headers=asked).headers is read
