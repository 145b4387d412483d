from __future__ import annotations

import pytest

from frazil.config.bootstrap import Bootstrap
from frazil.config.iceberg_sink import iceberg_sink_config
from frazil.config.object_sink import object_sink_config
from frazil.worker.source import range_options, source_options
from tests.config.samples import MINIMAL_S3_SINK, SEED_SINK


def options(**changes: str) -> dict[str, str]:
    config = iceberg_sink_config({**SEED_SINK, **{key.replace("__", "."): value for key, value in changes.items()}})
    return source_options(config, "broker:9092", ["apilogs"], {("apilogs", 0): 7}, parallelism=2)


def test_the_seeds_connector() -> None:
    made = options()
    assert made["kafka.bootstrap.servers"] == "broker:9092"
    assert made["subscribe"] == "apilogs"
    assert made["startingOffsets"] == '{"apilogs":{"0":7}}'
    assert made["failOnDataLoss"] == "true"
    assert made["includeHeaders"] == "false"
    assert made["maxTriggerDelay"] == "10000ms"
    assert made["maxOffsetsPerTrigger"] == "500000"
    assert made["minOffsetsPerTrigger"] == "100000"


@pytest.mark.parametrize(
    ("partitions", "parallelism", "ranges"),
    [(1, 1, 1), (1, 2, 2), (3, 2, 6), (4, 2, 4), (7, 2, 14), (9, 2, 9), (5, 8, 40)],
)
def test_each_task_gets_as_many_ranges_as_the_others(partitions: int, parallelism: int, ranges: int) -> None:
    begin = {("apilogs", partition): 0 for partition in range(partitions)}
    made = source_options(iceberg_sink_config(SEED_SINK), "broker:9092", ["apilogs"], begin, parallelism)
    assert made["minPartitions"] == str(ranges)


def test_a_pattern_is_subscribed_as_such() -> None:
    made = options(topics="", topics__regex="api.*")
    assert made["subscribePattern"] == "api.*"
    assert "subscribe" not in made


def test_dead_letters_keep_their_headers() -> None:
    assert options(errors__tolerance="all")["includeHeaders"] == "true"


def test_a_predicate_on_headers_reads_them() -> None:
    step = {"transforms": "f", "transforms__f__type": "Filter", "transforms__f__predicate": "p", "predicates": "p"}
    predicate = {"predicates__p__type": "HasHeaderKey", "predicates__p__name": "h"}
    assert options(**step, **predicate)["includeHeaders"] == "true"
    assert options(**step, predicates__p__type="RecordIsTombstone")["includeHeaders"] == "false"


def test_a_small_batch_starts_as_soon_as_it_is_full() -> None:
    made = options(frazil__batch__max__records="500")
    assert made["maxOffsetsPerTrigger"] == made["minOffsetsPerTrigger"] == "500"


def test_a_silent_broker_is_noticed_within_45_seconds() -> None:
    made = options()
    attempts = int(made["fetchOffset.numRetries"])
    planning_ms = attempts * int(made["kafka.default.api.timeout.ms"])
    planning_ms += (attempts - 1) * int(made["fetchOffset.retryIntervalMs"])
    assert planning_ms <= 45_000
    assert int(made["kafkaConsumer.pollTimeoutMs"]) <= 45_000
    assert int(made["kafka.request.timeout.ms"]) <= int(made["kafka.default.api.timeout.ms"])


def test_overrides_of_the_user_win() -> None:
    made = options(**{"consumer.override.max.poll.records": "1", "consumer.override.security.protocol": "SSL"})
    assert made["kafka.max.poll.records"] == "1"
    assert made["kafka.security.protocol"] == "SSL"


def test_a_longer_request_makes_the_call_around_it_longer() -> None:
    """Kafka's admin client refuses a request that may take longer than its call."""
    made = options(**{"consumer.override.request.timeout.ms": "60000"})
    assert made["kafka.request.timeout.ms"] == made["kafka.default.api.timeout.ms"] == "60000"


def test_security_of_the_cluster_and_of_the_connector() -> None:
    own = {"consumer.override.sasl.mechanism": "PLAIN"}
    config = iceberg_sink_config({**SEED_SINK, **own})
    worker = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "producer.ssl.key.password": "p"}
    cluster = Bootstrap.of("broker:9092", worker)
    made = source_options(config, cluster.overridden(own), ["apilogs"], {("apilogs", 0): 7}, parallelism=2)
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
    made = source_options(config, cluster, ["apilogs"], {("apilogs", 0): 7}, parallelism=2)
    assert made["kafka.sasl.jaas.config"].endswith('OAuthBearerLoginModule required clientId="c";')
    assert made["kafka.sasl.login.callback.handler.class"].endswith(".OAuthBearerLoginCallbackHandler")


def test_ranges_of_some_partitions() -> None:
    config = object_sink_config({**MINIMAL_S3_SINK, "consumer.override.max.poll.records": "7"})
    begin, end = {("t", 0): 1, ("t", 2): 3}, {("t", 0): 5, ("t", 2): 9}
    made = range_options(config, "broker:9092", begin, end, headers=False)
    assert made["assign"] == '{"t": [0, 2]}'
    assert (made["startingOffsets"], made["endingOffsets"]) == ('{"t":{"0":1,"2":3}}', '{"t":{"0":5,"2":9}}')
    assert made["kafka.max.poll.records"] == "7"
    assert ("minPartitions" in made, made["includeHeaders"]) == (False, "false")
