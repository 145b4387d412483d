from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.clients.kafka.offsets import end_offsets
from frazil.clients.registry.access import RegistryAccess
from frazil.clients.registry.schema import SchemaType
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.minio.deployment.deploy import deploy_topics
from frazil.pipeline.schemas.connect import ProtobufOptions
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.schemas.wire import Framing
from frazil.stack.local import LocalStack
from tests.cli.programs import finished, output_until, program
from tests.harness import messages
from tests.rest_worker import rest_worker

pytestmark = pytest.mark.stack


@pytest.fixture
def settings(stack: LocalStack, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Settings:
    name = request.node.name.removeprefix("test_").split("[")[0]
    topics = {f"{kind}_LOGS_TOPIC": f"cli.{name}.{kind.lower()}" for kind in ("API", "ERROR", "AUDIT")}
    env = {**stack.settings.env, **topics, "NAMESPACE_NAME": f"cli_{name}"}
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    settings = Settings(env)
    deploy_topics(settings, lambda step: None)
    return settings


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def counts(settings: Settings) -> list[int]:
    topics = list(settings.topics.values())
    offsets = end_offsets(settings.bootstrap_servers, topics)
    return [sum(n for (name, _), n in offsets.items() if name == topic) for topic in topics]


def test_produce_to_all_topics_and_to_one(settings: Settings) -> None:
    result = run("produce")
    assert result.exit_code == 0, result.output
    assert counts(settings) == [100, 100, 100]
    assert re.search(r"cli\.produce_to_all_topics_and_to_one\.error: 100 records in [0-9.]+ s", result.stdout)
    assert run("produce", settings.topics["audit"], "-n", "7").exit_code == 0
    assert counts(settings) == [100, 100, 107]


def test_lines_become_records_of_a_new_topic(settings: Settings, tmp_path: Path) -> None:
    lines = tmp_path / "orders.jsonl"
    lines.write_text('{"id": 1}\r\n\n{"id": 2.50}\nno json')
    result = run("produce", "cli.orders", "--values", str(lines))
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r"cli\.orders: 3 records in [0-9.]+ s \(the topic is new\)\n", result.stdout)
    more = CliRunner().invoke(app, ["produce", "cli.orders", "--values", "-"], input='{"id": 3}\n')
    assert more.stdout.startswith("cli.orders: 1 record in ")
    assert sum(end_offsets(settings.bootstrap_servers, ["cli.orders"]).values()) == 4


def test_lines_are_encoded_by_a_schema_that_the_registry_gets(
    settings: Settings, registry: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEMA_REGISTRY_URL", registry.registry_url)
    lines, avro, other, wrong = (tmp_path / name for name in ("lines", "avro", "json", "wrong"))
    lines.write_text('{"n": 1}\n{"n": 2}\n')
    avro.write_text('{"type": "record", "name": "N", "fields": [{"name": "n", "type": "int"}]}')
    other.write_text('{"type": "object", "properties": {"n": {"type": "integer"}}}')
    wrong.write_text('{"type": "nothing"}')
    access = RegistryAccess((registry.registry_url,))
    made: tuple[tuple[str, SchemaType, Path], ...] = (("cli.avro", "AVRO", avro), ("cli.json", "JSON", other))
    for topic, kind, file in made:
        result = run("produce", topic, "--values", str(lines), "--schema", str(file))
        assert result.exit_code == 0, result.output
        converter = RegistryConverter("C", kind, access)
        sent = messages(settings.bootstrap_servers, topic)
        found = [converter.split(message.value(), (), topic)[1] for message in sent]
        assert sorted(map(json.loads, found), key=str) == [{"n": 1}, {"n": 2}]
    proto = tmp_path / "n.proto"
    proto.write_text('syntax = "proto3"; message N { int64 n = 1; } message Other {}')
    assert run("produce", "cli.proto", "--values", str(lines), "--schema", str(proto)).exit_code == 0
    converter = RegistryConverter("C", "PROTOBUF", access, Framing(messages=True), options=ProtobufOptions())
    sent = messages(settings.bootstrap_servers, "cli.proto")
    assert sorted(converter.split(message.value(), (), "t")[1] for message in sent) == [b'{"n":1}', b'{"n":2}']
    proto.write_text("syntax")
    refused = run("produce", "cli.proto", "--values", str(lines), "--schema", str(proto))
    assert "it is no Protobuf schema" in str(refused.exception) and "Nothing was produced" in str(refused.exception)
    refused = run("produce", "cli.avro", "--values", str(lines), "--schema", str(wrong))
    assert "it is neither an Avro schema (there is no type nothing in it) nor a JSON Schema" in str(refused.exception)
    lines.write_text('{"n": "x"}')
    refused = run("produce", "cli.avro", "--values", str(lines), "--schema", str(avro))
    assert "record 1 does not fit the schema: column n: expected a whole number" in str(refused.exception)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["produce", "--schema", "x"], "--schema needs --values or --records"),
        (["produce", "nope"], "`nope` is no topic of log records, which are: "),
        (["produce", "--values", "-"], "--values needs a topic"),
        (["produce", "mine", "--values", "-", "-n", "5"], "takes no -n"),
        (["produce", "mine", "--values", "/none"], "--values /none cannot be read: No such file"),
        (["produce", "-n", "0"], "-n must be more than 0, not 0"),
        (["produce", "-n", "-5"], "-n must be more than 0, not -5"),
        (["generate", "api", "-n", "0"], "-n must be more than 0, not 0"),
        (["generate", "nope"], "unknown kind `nope`; choose one of: api, error, audit, all"),
        (["generate", "api", "--format", "xml"], "unknown format `xml`; choose one of: avro, protobuf, json-schema"),
        (["generate", "api", "--format", "avro", "--odd"], "--odd makes records that fit no schema"),
        (["continuous", "-i", "0"], "--interval must be more than 0 seconds, not 0"),
        (["continuous", "-i", "nan"], "--interval must be more than 0 seconds, not nan"),
        (["continuous", "-b", "0"], "--batch must be more than 0, not 0"),
    ],
)
def test_wrong_arguments(settings: Settings, arguments: list[str], text: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, UsageError)
    assert text in str(result.exception)
    assert counts(settings) == [0, 0, 0]


def test_generate_shows_rate_and_mix(settings: Settings) -> None:
    result = run("generate", "all", "--count", "20000", "--odd")
    assert result.exit_code == 0, result.output
    assert counts(settings) == [20_000, 20_000, 20_000]
    assert re.search(r"60,000 records \([1-9][0-9]* of them odd\) in [0-9.]+ s, [0-9,]+ ops/s\. Mix:", result.stdout)
    shares = [float(share) for share in re.findall(r"([0-9.]+)%$", result.stdout, re.MULTILINE)]
    assert 99 < sum(shares) < 101
    assert "api s3.ListObjectsV2" in result.stdout
    assert re.fullmatch(r"(  \S+\.(api|error|audit): [0-9,]+ of 20,000\n)*", result.stderr), "a line each two seconds"


def test_init_twice(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with rest_worker(tmp_path) as (url, _):
        monkeypatch.setenv("KAFKA_CONNECT_URL", url)
        first, again = run("init"), run("init")
    assert first.exit_code == again.exit_code == 0, first.output + again.output
    assert re.search(r"^table +cli_init_twice\.apilogs +created$", first.stdout, re.MULTILINE)
    assert re.search(r"^connector +iceberg-sink-auditlogs +created$", first.stdout, re.MULTILINE)
    assert "Ready: 14 exists" in again.stdout


def test_continuous_until_interrupted(settings: Settings) -> None:
    producing = program(settings, "continuous", "-i", "600", "-b", "12")
    output_until(producing, "Z  ")  # the line of the first round: what is on its way when Ctrl+C comes is not counted
    producing.send_signal(signal.SIGINT)
    code, shown = finished(producing)
    assert code == 0, shown
    stopped = re.search(r"Stopped after \d+ s: ([0-9,]+) records acknowledged", shown)
    assert stopped, shown
    assert int(stopped[1].replace(",", "")) == sum(counts(settings))
    assert "Traceback" not in shown
