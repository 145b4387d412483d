"""A connector that is opened: its cluster, its group, its secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.connectors.checks.compare import Limits
from frazil.connectors.connector import Standing, open_connector
from frazil.declare.providers import ConfigProviders, EnvironmentProvider
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import ConfigError, NotFound, UsageError
from frazil.pipeline.executor import InlineExecutor
from tests.connectors.samples import MINIMAL_S3_SINK, MINIMAL_SINK
from tests.isolation import isolated_settings

PROVIDERS = ConfigProviders({"env": EnvironmentProvider({"GROUP": "mine", "USER": "me", "TOPIC": "t", "BAD": "hush"})})
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="${env:USER}" password="p";'


def test_a_connector_sees_the_cluster_with_its_own_login(tmp_path: Path) -> None:
    own = {"consumer.override.sasl.jaas.config": LOGIN, "consumer.override.sasl.mechanism": "PLAIN"}
    opened = open_connector("c", MINIMAL_SINK | own, isolated_settings(tmp_path), PROVIDERS)
    assert 'username="me"' in opened.cluster.settings("consumer")["sasl.jaas.config"]
    assert opened.cluster.settings("producer") == {}
    assert opened.sink.config.name == "c"


def test_errors_hide_what_providers_gave(tmp_path: Path) -> None:
    config = MINIMAL_S3_SINK | {"connector.class": "ObjectSink", "flush.size": "${env:BAD}"}
    with pytest.raises(ConfigError) as raised:
        open_connector("c", config, isolated_settings(tmp_path), PROVIDERS)
    assert "flush.size" in str(raised.value)
    assert "hush" not in str(raised.value)


def test_what_its_sink_raises_has_no_secret(tmp_path: Path) -> None:
    own = {"iceberg.catalog.token": "topsecret", "iceberg.catalog.user": "${env:BAD}-4711"}
    opened = open_connector("c", MINIMAL_SINK | own, isolated_settings(tmp_path), PROVIDERS)
    with pytest.raises(NotFound) as raised, opened.hiding() as sink:
        raise NotFound(f"no table of {sink.name} for topsecret, hush-4711")
    assert "topsecret" not in str(raised.value)
    assert str(raised.value).startswith("no table of c for [hidden]")


def test_object_sinks_have_no_rows_to_sample(tmp_path: Path) -> None:
    keys = {"aws.access.key.id": "a", "aws.secret.access.key": "topsecret"}
    opened = open_connector("s", MINIMAL_S3_SINK | keys, isolated_settings(tmp_path), PROVIDERS)
    with pytest.raises(UsageError, match="a sample is for sinks of tables"), opened.hiding() as sink:
        sink.sample(5, 5, print, InlineExecutor)


def test_rows_of_tables_are_compared_as_a_whole(tmp_path: Path) -> None:
    opened = open_connector("c", MINIMAL_SINK, isolated_settings(tmp_path), PROVIDERS)
    for limits in (Limits(partition=0), Limits(begin=0), Limits(end=5)):
        with pytest.raises(UsageError, match="Nothing was compared; leave them out"):
            opened.sink.verify(limits, lambda what, done, total: None)


def test_where_a_connector_stands_needs_its_group_its_topics_and_its_login_alone() -> None:
    servers = Bootstrap.of("broker:9092", {"sasl.mechanism": "PLAIN"})
    plain = Standing.of("c", {"a": "${env:NONE}", "topics": " t , u,"}, servers, PROVIDERS)
    assert (plain.group, plain.topics, plain.cluster.settings("consumer")) == (
        "connect-c",
        ("t", "u"),
        {"sasl.mechanism": "PLAIN"},
    )
    own = {
        "topics": "${env:TOPIC}",
        "consumer.override.group.id": "g-${env:GROUP}",
        "consumer.override.sasl.mechanism": "SCRAM-SHA-512",
    }
    found = Standing.of("c", own, servers, PROVIDERS)
    assert (found.group, found.topics) == ("g-mine", ("t",))
    assert found.cluster.settings("consumer") == {"sasl.mechanism": "SCRAM-SHA-512"}
