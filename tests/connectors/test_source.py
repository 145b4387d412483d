from __future__ import annotations

from typing import Any

import pytest

from frazil.clients.kafka.consumer_settings import NAMES
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.connectors.source import task_source
from frazil.environment.bootstrap import Bootstrap
from frazil.pipeline.source import Source
from tests.connectors.samples import MINIMAL_S3_SINK, SEED_SINK


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
