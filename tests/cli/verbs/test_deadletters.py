from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.cli.ui import letter_view
from frazil.cli.ui.output import Output
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.produce import RecordProducer
from frazil.connectors.iceberg.table.commit import Commit, TableBranch
from frazil.connectors.positions import KafkaIdentity
from frazil.connectors.sink import Outcome
from frazil.environment.settings import Settings
from frazil.errors import NotFound, ServiceUnavailable, UsageError
from frazil.pipeline.letters.deadletter import DeadLetter, DeadLetterQueue
from frazil.pipeline.letters.letter import Letter
from frazil.stack.local import LocalStack
from tests.clients.registry.server import served
from tests.rest_worker import rest_worker

pytestmark = pytest.mark.stack

SECRET = b'{"n": "many", "requestHeader": {"Authorization": "AWS4 very-secret"}}'


@dataclass
class Place:
    """A broker with one dead-letter topic of its own; the worker does not run unless a test starts one."""

    settings: Settings
    name: str

    @property
    def queue(self) -> str:
        return f"{self.name}-dlq"

    def write(self, *letters: tuple[int, bytes | None, str, str], connector: str | None = None) -> None:
        """Dead letters from offset of the record, value, column path and reason."""
        queue = DeadLetterQueue(self.settings.bootstrap_servers, connector or self.name, "Sink", self.queue, True)
        headers = (("trace", b"t1"), ("Cookie", b"very-secret"))
        queue.write(
            [DeadLetter(self.name, 0, n, 0, b"key", value, headers, path, why) for n, value, path, why in letters]
        )

    def produce(self, value: bytes | None) -> None:
        producer = Producer({"bootstrap.servers": self.settings.bootstrap_servers})
        producer.produce(self.queue, value)
        assert producer.flush(20) == 0


@pytest.fixture
def place(stack: LocalStack, monkeypatch: pytest.MonkeyPatch, free_ports: Callable[[int], list[int]]) -> Place:
    name = f"dead{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(stack.settings.bootstrap_servers, {f"{name}-dlq": (1, {}), name: (1, {})})
    [port] = free_ports(1)
    env = {**stack.settings.env, "KAFKA_CONNECT_URL": f"http://127.0.0.1:{port}", "FRAZIL_ENV_FILE": os.devnull}
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    return Place(Settings(env), name)


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["deadletters", *arguments], input=stdin)


def found(*arguments: str) -> Any:
    result = run(*arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_summary_by_reason(place: Place) -> None:
    place.write(*((n, b"{}", "n", f'the text is not an integer for type int ("{n}")') for n in range(30)))
    place.write((30, b"x", "", "the value is not JSON: JSON is malformed (byte 0)"), connector="other")
    shown = run("list", "--topic", place.queue)
    assert shown.exit_code == 0, shown.output
    assert "31 open dead letters" in shown.stdout
    assert 'column n: the text is not an integer for type int ("0")' in shown.stdout
    groups = found("list", "--topic", place.queue)
    assert [(g["count"], g["connector"]) for g in groups] == [(30, place.name), (1, "other")]
    assert groups[0]["first"] <= groups[0]["last"]
    assert [g["count"] for g in found("list", "--topic", place.queue, "--connector", "other")] == [1]
    assert found("list", "--topic", place.queue, "--until", "1h") == []
    assert "There are no such open dead letters." in run("list", "--connector", uuid.uuid4().hex).stdout


def test_single_ones_the_newest_first(place: Place) -> None:
    place.write(*((n, b"{}", "n", "wrong") for n in range(5)))
    lines = found("list", "--all", "-n", "2", "--topic", place.queue)
    assert [line["offset"] for line in lines] == [4, 3]
    assert lines[0]["record"] == {"topic": place.name, "partition": 0, "offset": 4}
    shown = run("list", "--all", "-n", "2", "--topic", place.queue).stdout
    assert "5 open dead letters, of which the newest 2 are shown (-n shows more)" in shown


def test_messages_without_headers_are_shown_with_what_there_is(place: Place) -> None:
    place.produce(b"\x00\x01\xff" * 10)
    [line] = found("list", "--all", "--topic", place.queue)
    assert (line["connector"], line["record"], line["reason"]) == (None, None, None)
    shown = run("show", place.queue, "0", "0")
    assert shown.exit_code == 0, shown.output
    assert "00000000  00 01 ff 00" in shown.stdout
    replayed = run("replay", "--topic", place.queue)
    assert replayed.exit_code == 1
    assert f"{place.queue} 0 0  open: it does not tell its connector" in replayed.stdout


def test_show_masks_credentials_unless_told_otherwise(place: Place) -> None:
    place.write((7, SECRET, "n", "the text is not an integer"))
    shown = run("show", place.queue, "0", "0")
    assert shown.exit_code == 0, shown.output
    for line in (
        f"dead letter  {place.queue}, partition 0, offset 0: open",
        f"connector    {place.name}",
        f"record       {place.name}-0@7, 1970-01-01T00:00:00Z",
        "column       n",
        "reason       the text is not an integer",
        "stage        TASK_PUT",
        "header trace t1",
        '  "n": "many",',
        '    "Authorization": "***REDACTED***"',
    ):
        assert line in shown.stdout
    assert "very-secret" not in shown.stdout
    assert "very-secret" not in run("show", place.queue, "0", "0", "-o", "json").stdout
    raw = json.loads(run("show", place.queue, "0", "0", "-o", "json", "--raw").stdout)
    assert raw["value"] == SECRET.decode()
    assert {"name": "Cookie", "value": "very-secret"} in raw["headers"]
    assert raw["context"]["stage"] == "TASK_PUT"
    assert run("show", place.queue, "0", "0", "--raw").stdout.count("very-secret") == 2


def test_show_reads_records_with_schemas_as_their_connector_does(place: Place, tmp_path: Path) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "Authorization", "type": "string"}]}
    with served({"/schemas/ids/7": {"schema": json.dumps(schema)}, "/schemas/ids/7/versions": []}) as registry:
        place.write(
            (0, b"\0\0\0\0\7\x08very", "n", "wrong"), (1, b"\0\0\0\0\7\x08", "", "wrong"), (2, None, "", "wrong")
        )
        config = tmp_path / "connector.json"
        converter = {"class": "io.confluent.connect.avro.AvroConverter", "url": registry.url}
        keys = {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "topics": place.name,
            "iceberg.tables": "a.b",
            "value.converter": converter["class"],
            "value.converter.schema.registry.url": converter["url"],
        }
        config.write_text(json.dumps({"name": place.name, "config": keys}))

        def show(offset: int) -> Any:
            return found("show", place.queue, "0", str(offset), "--config", str(config))["read"]

        assert json.loads(show(0)["value"]) == {"Authorization": "***REDACTED***"}
        assert show(1)["value"].startswith("cannot be read: the record does not fit its schema (id 7)")
        assert show(2) == {}
        raw = run("show", place.queue, "0", "0", "--config", str(config), "--raw").stdout
        assert 'value read   {"Authorization":"very"}' in raw or '"Authorization": "very"' in raw
    assert found("show", place.queue, "0", "0")["read"] == {}


def test_show_sends_no_control_characters(place: Place) -> None:
    place.write((0, b"\x1b[2J not JSON \xff", "", "the value is not JSON \x1b[31m"))
    shown = run("show", place.queue, "0", "0").stdout
    assert "\x1b" not in shown
    assert r"\x1b[2J not JSON \xff" in shown


def test_drop_asks_and_marks(place: Place) -> None:
    place.write((0, b"", "n", "wrong"), (1, b"", "", "the value is empty"), (2, b"", "", "the value is empty"))
    only = ("--topic", place.queue, "--reason", "EMPTY")
    assert isinstance(run("drop", *only).exception, UsageError)
    assert "Nothing was dropped." in run("drop", *only, "--dry-run").stdout
    assert len(found("list", "--all", "--topic", place.queue)) == 3
    dropped = run("drop", *only, "--yes")
    assert (dropped.exit_code, "2 dead letters dropped." in dropped.stdout) == (0, True)
    assert [line["offset"] for line in found("list", "--all", "--topic", place.queue)] == [0]
    assert "closed (replayed or dropped)" in run("show", place.queue, "0", "1").stdout
    assert found("drop", "--topic", place.queue, "--yes")["dropped"] == 1
    assert found("drop", "--topic", place.queue, "--yes")["dropped"] == 0


def test_replay_needs_to_know_the_connector(place: Place, tmp_path: Path) -> None:
    place.write((0, b"{}", "n", "wrong"))
    down = run("replay", "--topic", place.queue)
    assert isinstance(down.exception, ServiceUnavailable)
    assert "--config" in str(down.exception)
    with rest_worker(tmp_path) as (url, _):
        gone = CliRunner().invoke(
            app, ["deadletters", "replay", "--topic", place.queue], env={"KAFKA_CONNECT_URL": url}
        )
    assert gone.exit_code == 1
    assert f"open: connector {place.name} does not exist; give its configuration with --config" in gone.stdout


@pytest.mark.parametrize("wrapped", [True, False])
def test_replay_with_the_configuration_from_a_file(
    place: Place, tmp_path: Path, wrapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONNECT_CONFIG_PROVIDERS", "env")
    provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    monkeypatch.setenv("CONNECT_CONFIG_PROVIDERS_ENV_CLASS", provider)
    catalog = connect(place.settings.catalog_properties())
    catalog.create_namespace_if_not_exists("deadletters")
    fields = NestedField(1, "id", LongType(), required=True), NestedField(2, "n", IntegerType())
    table = catalog.create_table(f"deadletters.{place.name}", Schema(*fields))
    target = TableBranch(catalog, f"deadletters.{place.name}", "main")
    position = {(place.name, 0): 10}
    target.commit(
        table, target.floor(table, place.name), Commit(place.name, [], position, position, KafkaIdentity(), None)
    )
    config = {
        "name": place.name,
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": place.name,
        "iceberg.tables": f"deadletters.{place.name}",
        **{f"iceberg.catalog.{k}": v for k, v in place.settings.catalog_properties().items()},
        "iceberg.catalog.s3.secret-access-key": "${env:MINIO_SECRET_KEY}",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": False,
    }
    monkeypatch.setenv("MINIO_SECRET_KEY", place.settings.secret_key)
    file = tmp_path / "connector.json"
    file.write_text(json.dumps({"name": place.name, "config": config} if wrapped else config))
    place.write((0, b'{"id": 1, "n": 3000000000}', "n", "too large"), (1, b'{"id": 2, "n": 1}', "n", "once"))
    judged = run("replay", "--config", str(file), "--dry-run")
    assert judged.exit_code == 1
    assert f"{place.queue} 0 0  would fail again: column n: the number does not fit in 32 bits" in judged.stdout
    assert f"{place.queue} 0 1  would be stored" in judged.stdout
    assert "1 would be stored, 1 would fail again. Nothing was changed." in judged.stdout
    outcomes = json.loads(run("replay", "--config", str(file), "-o", "json").stdout)
    assert [outcome["verdict"] for outcome in outcomes] == ["fails", "stored"]
    assert table.refresh().scan().to_arrow()["id"].to_pylist() == [2]
    with table.update_schema() as update:
        update.update_column("n", LongType())
    done = run("replay", "--config", str(file))
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "1 stored.")
    assert run("replay", "--config", str(file), "-o", "json").stdout == "[]\n"


def test_why_a_connector_replays_nothing_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    letters = [Letter("t-dlq", 0, offset, 0, None, b"{}") for offset in range(2)]
    outcomes = [Outcome(letter, "never", "they cannot be replayed") for letter in letters]
    assert not letter_view.print_outcomes(outcomes, lambda step: None, Output.TABLE, dry_run=True)
    assert capsys.readouterr().out == "they cannot be replayed\n2 cannot be replayed. Nothing was changed.\n"
    letter_view.print_outcomes(outcomes[:1], lambda step: None, Output.TABLE, dry_run=False)
    assert capsys.readouterr().out == "they cannot be replayed\n1 stays open.\n"


@pytest.mark.parametrize(
    ("content", "arguments", "text"),
    [
        ("{", [], "is not JSON"),
        ("[]", [], "there is no connector in"),
        ('{"name": "c", "a": {}}', [], "the value of a is an object"),
        ("{}", [], "without a name"),
        ('{"name": "a"}', ["--connector", "b"], "is of connector a, not of b"),
    ],
)
def test_files_that_are_no_connector(
    place: Place, tmp_path: Path, content: str, arguments: list[str], text: str
) -> None:
    file = tmp_path / "connector.json"
    file.write_text(content)
    result = run("replay", "--config", str(file), *arguments)
    assert isinstance(result.exception, UsageError)
    assert text in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (["list", "--since", "soon"], UsageError, "is not a time"),
        (["list", "--since", "1h", "--until", "2h"], UsageError, "is not before"),
        (["list", "--reason", "a(b|"], UsageError, "no regular expression"),
        (["list", "--topic", "no-such"], NotFound, "there is no topic no-such"),
        (["show", "no-such", "0", "0"], NotFound, "no-such"),
        (["drop", "-o", "json"], UsageError, "cannot ask"),
    ],
)
def test_wrong_arguments(place: Place, arguments: list[str], kind: type[Exception], text: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, kind)
    assert text in str(result.exception)


def test_connectors_name_their_queues(place: Place, tmp_path: Path) -> None:
    odd = f"{place.name}.graveyard"
    kafka_topics.ensure_topics(place.settings.bootstrap_servers, {odd: (1, {})})
    with rest_worker(tmp_path) as (url, _):
        config = {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "topics": place.name,
            "iceberg.tables": "a.b",
            "iceberg.catalog.type": "rest",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": odd,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
        with ConnectClient(url) as client:
            client.put_config(f"{place.name}-c", config)
        client_of_queue = DeadLetterQueue(place.settings.bootstrap_servers, place.name, "S", odd, True)
        client_of_queue.write([DeadLetter(place.name, 0, 0, 0, None, b"", (), "", "wrong")])
        answer = CliRunner().invoke(
            app, ["deadletters", "list", "--connector", place.name, "-o", "json"], env={"KAFKA_CONNECT_URL": url}
        )
        assert [group["topic"] for group in json.loads(answer.stdout)] == [odd]
        for verb in (["list"], ["list", "--all"], ["replay"], ["drop", "--yes"]):
            none = CliRunner().invoke(
                app, ["deadletters", *verb, "--connector", f"{place.name}-c"], env={"KAFKA_CONNECT_URL": url}
            )
            assert (none.exit_code, none.exception) == (0, None)
            gone = CliRunner().invoke(
                app, ["deadletters", *verb, "--connector", "nope"], env={"KAFKA_CONNECT_URL": url}
            )
            assert isinstance(gone.exception, NotFound)
            assert str(gone.exception).startswith("connector nope does not exist")
        refused = CliRunner().invoke(
            app, ["deadletters", "list", "--topic", place.name], env={"KAFKA_CONNECT_URL": url}
        )
        assert "holds records, not dead letters" in str(refused.exception)


def test_a_record_is_not_shown_as_a_dead_letter(place: Place, tmp_path: Path) -> None:
    plain = f"{place.name}.plain"
    with RecordProducer(place.settings.bootstrap_servers) as producer:
        kafka_topics.ensure_topics(place.settings.bootstrap_servers, {plain: (1, {})})
        producer.send(plain, [b"{}"], 1)
    with rest_worker(tmp_path) as (url, _):
        shown = CliRunner().invoke(app, ["deadletters", "show", plain, "0", "0"], env={"KAFKA_CONNECT_URL": url})
    assert isinstance(shown.exception, NotFound)
    assert f"`topics peek {plain} --from 0 -p 0 -n 1` shows it" in str(shown.exception)


@pytest.mark.parametrize("verb", [["list"], ["list", "--all"], ["replay"], ["replay", "--dry-run"], ["drop", "--yes"]])
def test_a_connector_that_does_not_exist_is_told(place: Place, tmp_path: Path, verb: list[str]) -> None:
    with rest_worker(tmp_path) as (url, _):
        env = {"KAFKA_CONNECT_URL": url}
        answer = CliRunner().invoke(app, ["deadletters", *verb, "--topic", place.queue, "--connector", "nope"], env=env)
    assert isinstance(answer.exception, NotFound)
    assert "connector nope does not exist" in str(answer.exception)
