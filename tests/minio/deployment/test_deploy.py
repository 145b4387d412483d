from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

from frazil.clients.catalog import connect
from frazil.clients.kafka.client import admin
from frazil.clients.kafka.offsets import end_offsets
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, ServiceUnavailable
from frazil.minio.deployment.connectors import connectors
from frazil.minio.deployment.deploy import Step, deploy, deploy_connectors, deploy_tables, deploy_topics
from frazil.minio.records.kinds import TABLE_NAMES
from frazil.minio.records.tables import OLDER_AUDIT_SCHEMA, PARTITION_SPECS, SCHEMAS, TABLE_PROPERTIES, table_kind
from frazil.stack.local import LocalStack
from frazil.stack.ports import unused
from tests.rest_worker import rest_worker
from tests.waits import PATIENCE_S

pytestmark = pytest.mark.stack


@pytest.fixture
def settings(stack: LocalStack, request: pytest.FixtureRequest) -> Settings:
    """Names of their own for each test."""
    name = request.node.name.removeprefix("test_")[:20].strip("_")
    topics = {f"{kind}_LOGS_TOPIC": f"{name}.{kind.lower()}" for kind in ("API", "ERROR", "AUDIT")}
    return Settings({**stack.settings.env, "NAMESPACE_NAME": f"ns_{name}", **topics})


@pytest.fixture
def catalog(stack: LocalStack) -> Iterator[Catalog]:
    catalog = connect(stack.settings.catalog_properties())
    yield catalog
    catalog.close()


def steps(what: str, found: list[Step]) -> dict[str, str]:
    return {step.name: step.outcome for step in found if step.what == what}


def test_topics(settings: Settings) -> None:
    first: list[Step] = []
    deploy_topics(settings, first.append)
    again: list[Step] = []
    deploy_topics(settings, again.append)
    data = set(settings.topics.values())
    dead = {f"{topic}-dlq" for topic in data}
    assert set(steps("topic", first)) == data | dead | {settings.control_topic}
    assert {step.outcome for step in first if step.name != settings.control_topic} == {"created"}
    assert {step.outcome for step in again} == {"exists"}
    partitions = list(end_offsets(settings.bootstrap_servers, data | dead | {settings.control_topic}))
    count = {topic: sum(1 for name, _ in partitions if name == topic) for topic, _ in partitions}
    assert count == {**dict.fromkeys(data, 3), **dict.fromkeys(dead, 1), settings.control_topic: 1}
    client = admin(settings.bootstrap_servers)
    for topic in data | dead:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        described = client.describe_configs([resource])[resource].result(PATIENCE_S)
        assert described["max.message.bytes"].value == "16777216"


def test_tables(settings: Settings, catalog: Catalog) -> None:
    first: list[Step] = []
    deploy_tables(settings, first.append)
    again: list[Step] = []
    deploy_tables(settings, again.append)
    names = {f"{settings.namespace}.{table}" for table in TABLE_NAMES.values()}
    assert steps("warehouse", first) == {}, "it is made by whoever runs the catalog"
    assert steps("namespace", first) == {settings.namespace: "created"}
    assert steps("table", first) == dict.fromkeys(names, "created")
    assert {step.outcome for step in again} == {"exists"}
    for kind, name in TABLE_NAMES.items():
        table = catalog.load_table(f"{settings.namespace}.{name}")
        assert table.schema() == SCHEMAS[kind]
        assert table.spec().fields == PARTITION_SPECS[kind].fields
        assert table.metadata.format_version == 2
        assert {k: v for k, v in TABLE_PROPERTIES.items() if k != "format-version"}.items() <= table.properties.items()
        assert table_kind(table.schema()) == kind


def test_an_older_audit_table_gets_the_new_columns(settings: Settings, catalog: Catalog) -> None:
    catalog.create_namespace(settings.namespace)
    identifier = f"{settings.namespace}.auditlogs"
    catalog.create_table(identifier, OLDER_AUDIT_SCHEMA)
    found: list[Step] = []
    deploy_tables(settings, found.append)
    assert steps("namespace", found) == {settings.namespace: "exists"}
    assert steps("table", found)[identifier] == "updated"
    assert catalog.load_table(identifier).schema().find_type("metadata") == StringType()


def test_a_table_without_the_columns_is_left_alone(settings: Settings, catalog: Catalog) -> None:
    catalog.create_namespace(settings.namespace)
    identifier = f"{settings.namespace}.apilogs"
    catalog.create_table(identifier, Schema(NestedField(1, "version", StringType(), required=False)))
    with pytest.raises(ConfigError, match=rf"table `{identifier}` exists but lacks the columns bucket, callInfo, "):
        deploy_tables(settings, lambda step: None)
    assert catalog.load_table(identifier).schema().column_names == ["version"]


def test_connectors_are_created_once_and_left_running(settings: Settings, tmp_path: Path) -> None:
    with rest_worker(tmp_path) as (url, factory):
        here = Settings({**settings.env, "KAFKA_CONNECT_URL": url})
        first: list[Step] = []
        deploy_connectors(here, first.append)
        again: list[Step] = []
        deploy_connectors(here, again.append)
        changed: list[Step] = []
        deploy_connectors(Settings({**here.env, "API_LOGS_TOPIC": "other"}), changed.append)
        starts = {name: len(runners) for name, runners in factory.runners.items()}
    names = set(connectors(here))
    assert steps("connector", first) == dict.fromkeys(names, "created")
    assert steps("connector", again) == dict.fromkeys(names, "exists")
    assert steps("connector", changed) == {**dict.fromkeys(names, "exists"), "iceberg-sink-apilogs": "updated"}
    assert starts["iceberg-sink-errorlogs"] == 1


def test_everything_in_order(settings: Settings, tmp_path: Path) -> None:
    with rest_worker(tmp_path) as (url, _):
        found: list[Step] = []
        deploy(Settings({**settings.env, "KAFKA_CONNECT_URL": url}), found.append)
    kinds = list(dict.fromkeys(step.what for step in found))
    assert kinds == ["topic", "namespace", "table", "connector"]
    assert len(found) == 7 + 1 + 3 + 3


def test_without_a_worker_tables_are_there_and_the_error_names_it(settings: Settings, catalog: Catalog) -> None:
    (port,) = unused(1)
    url = f"http://127.0.0.1:{port}"
    with pytest.raises(ServiceUnavailable, match=f"the worker at {url} does not answer"):
        deploy(Settings({**settings.env, "KAFKA_CONNECT_URL": url}), lambda step: None)
    assert catalog.table_exists(f"{settings.namespace}.auditlogs")


def test_wrong_credentials(settings: Settings) -> None:
    wrong = Settings({**settings.env, "MINIO_SECRET_KEY": "not-the-secret"})
    with pytest.raises(ConfigError, match="MINIO_SECRET_KEY") as error:
        deploy_tables(wrong, lambda step: None)
    assert "not-the-secret" not in str(error.value)
