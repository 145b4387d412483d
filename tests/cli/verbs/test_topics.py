"""The verbs `topics` and `groups`, and records that `produce` takes, on one broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.cli.verbs.groups import complete_groups
from frazil.cli.verbs.topics import complete_topics
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka.groups import set_group_offsets
from frazil.environment.settings import Settings
from frazil.errors import AlreadyExists, NotFound, UsageError
from frazil.stack.local import LocalStack
from tests.connectors.samples import MINIMAL_SINK
from tests.rest_worker import rest_worker

pytestmark = pytest.mark.stack
WRITES_ROWS = {
    "connector.class": "SqlSink",
    "topics": "verbs.lines",
    "frazil.sql.schema": "n BIGINT",
    "frazil.sql": "SELECT n FROM `verbs.lines`",
    "frazil.sql.topic": "verbs.rows",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture
def settings(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for key, value in stack.settings.env.items():
        monkeypatch.setenv(key, value)
    return stack.settings


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=given)


def ok(*arguments: str, given: str = "") -> str:
    result = run(*arguments, given=given)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_a_topic_from_its_creation_to_its_end(settings: Settings) -> None:
    created = ok("topics", "create", "verbs.life", "--partitions", "2", "--set", "retention.ms=86400000")
    assert created == "verbs.life: created with 2 partitions\n"
    assert isinstance(run("topics", "create", "verbs.life").exception, AlreadyExists)
    refused = run("topics", "create", "verbs.other", "--set", "retention.ms")
    assert "--set retention.ms: expected KEY=VALUE" in str(refused.exception)
    lines = [{"value": {"n": n}, "key": f"k{n}", "headers": {"h": "x"}, "partition": n % 2} for n in range(4)]
    ok("produce", "verbs.life", "--records", "-", given="\n".join(map(json.dumps, lines)))
    assert "verbs.life" in ok("topics", "list", "-o", "name").splitlines()
    assert "__consumer_offsets" not in ok("topics", "list", "-o", "name")
    [listed] = [one for one in json.loads(ok("topics", "list", "-o", "json")) if one["topic"] == "verbs.life"]
    assert listed == {"topic": "verbs.life", "partitions": 2, "replicas": 1, "records": 4, "healthy": True}
    described = json.loads(ok("topics", "describe", "verbs.life", "-o", "json"))
    assert described["settings"]["retention.ms"] == "86400000"
    assert [(one["begin"], one["end"], one["leader"]) for one in described["partitions"]] == [(0, 2, 1), (0, 2, 1)]
    assert "verbs.life" in complete_topics("verbs.l")
    asked = run("topics", "delete", "verbs.life")
    assert isinstance(
        asked.exception, UsageError
    ) and "Delete verbs.life with 4 records? This cannot be asked here" in str(asked.exception)
    assert ok("topics", "delete", "verbs.life", "--yes") == "verbs.life: deleted\n"
    assert isinstance(run("topics", "describe", "verbs.life").exception, NotFound)


def test_records_are_shown_as_they_are_and_can_be_copied(settings: Settings) -> None:
    lines = [
        '{"value": {"n": 1}, "key": "a", "headers": {"h": "x"}, "timestamp": "2026-11-29T10:00:00Z"}',
        '{"value": null, "key": "a", "timestamp": "2026-11-29T11:00:00Z"}',
        '{"value": {"base64": "AP8="}, "timestamp": "2026-11-29T12:00:00Z"}',
    ]
    ok("topics", "create", "verbs.peek", "--partitions", "1")
    ok("produce", "verbs.peek", "--records", "-", given="\n".join(lines))
    shown = ok("topics", "peek", "verbs.peek").splitlines()
    assert shown == [
        '0@0  2026-11-29T10:00:00.000Z  key=a  h:x  {"n": 1}',
        "0@1  2026-11-29T11:00:00.000Z  key=a  tombstone",
        '0@2  2026-11-29T12:00:00.000Z  {"base64": "AP8="}',
    ]
    assert len(ok("topics", "peek", "verbs.peek", "-n", "1").splitlines()) == 1
    assert ok("topics", "peek", "verbs.peek", "--from", "beginning", "-n", "1").startswith("0@0 ")
    assert ok("topics", "peek", "verbs.peek", "--from", "1", "-n", "1").startswith("0@1 ")
    assert ok("topics", "peek", "verbs.peek", "--from", "2026-11-29T11:30:00Z").startswith("0@2 ")
    refused = run("topics", "peek", "verbs.peek", "--partition", "7")
    assert "has no partition 7" in str(refused.exception)
    ok("produce", "verbs.copy", "--records", "-", given=ok("topics", "peek", "verbs.peek", "--raw", "-o", "json"))
    copied = [json.loads(line) for line in ok("topics", "peek", "verbs.copy", "-o", "json").splitlines()]
    assert [(one["key"], one["timestamp"]) for one in copied] == [
        ("a", "2026-11-29T10:00:00.000Z"),
        ("a", "2026-11-29T11:00:00.000Z"),
        (None, "2026-11-29T12:00:00.000Z"),
    ]


def test_schemas_of_keys_and_values_are_those_of_the_connector_that_reads(
    settings: Settings, registry: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEMA_REGISTRY_URL", registry.registry_url)
    avro = tmp_path / "order.avsc"
    ok("topics", "create", "verbs.rows")
    avro.write_text('{"type": "record", "name": "Order", "fields": [{"name": "n", "type": "long"}]}')
    key = tmp_path / "key.avsc"
    key.write_text('"string"')
    schemas = ("--schema", str(avro), "--key-schema", str(key))
    ok(
        "produce",
        "verbs.avro",
        "--records",
        "-",
        *schemas,
        given='{"key": "k", "value": {"n": 7}}\n{"key": "k", "value": null}',
    )
    assert '{"n": 7}' not in ok("topics", "peek", "verbs.avro"), "nobody reads it"
    converters = {
        f"{part}.converter{suffix}": value
        for part in ("key", "value")
        for suffix, value in (
            ("", "io.confluent.connect.avro.AvroConverter"),
            (".schema.registry.url", registry.registry_url),
        )
    }
    with rest_worker(tmp_path / "worker") as (url, _), ConnectClient(url) as client:
        monkeypatch.setenv("KAFKA_CONNECT_URL", url)
        client.put_config("reader", {**MINIMAL_SINK, "topics": "verbs.avro", **converters, "name": "reader"})
        shown = [json.loads(line) for line in ok("topics", "peek", "verbs.avro", "-o", "json").splitlines()]
        assert [(one["key"], one["value"]) for one in shown] == [("k", {"n": 7}), ("k", None)]
        assert "reader" in ok("topics", "describe", "verbs.avro")
        refused = run("topics", "delete", "verbs.avro", "--yes")
        assert "reader reads verbs.avro. Nothing was deleted" in str(refused.exception)
        client.put_config("writer", {**WRITES_ROWS, "name": "writer"})
        described = json.loads(ok("topics", "describe", "verbs.rows", "-o", "json"))
        assert (described["connectors"], described["writers"]) == ([], ["writer"])
        refused = run("topics", "delete", "verbs.rows", "--yes")
        assert "writer writes to verbs.rows. Nothing was deleted" in str(refused.exception)
        refused = run("topics", "peek", "verbs.avro", "--connector", "nope")
        assert "connector nope does not read verbs.avro" in str(refused.exception)


def test_groups_with_their_lag(settings: Settings) -> None:
    ok("topics", "create", "verbs.groups", "--partitions", "1")
    ok("produce", "verbs.groups", "--values", "-", given="1\n2\n3\n")
    set_group_offsets(settings.bootstrap_servers, "verbs-group", {("verbs.groups", 0): 1})
    assert "verbs-group" in ok("groups", "list", "-o", "name").splitlines()
    [listed] = [one for one in json.loads(ok("groups", "list", "-o", "json")) if one["group"] == "verbs-group"]
    assert listed == {"group": "verbs-group", "state": "EMPTY", "members": 0, "topics": ["verbs.groups"], "lag": 2}
    described = json.loads(ok("groups", "describe", "verbs-group", "-o", "json"))
    assert described["partitions"] == [
        {"topic": "verbs.groups", "partition": 0, "position": 1, "end": 3, "lag": 2, "lost": 0, "member": None}
    ]
    assert complete_groups("verbs-g") == ["verbs-group"]
    assert isinstance(run("groups", "describe", "verbs-nobody").exception, NotFound)
