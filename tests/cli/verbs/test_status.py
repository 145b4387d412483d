from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.cli.verbs.status_look import MISSING, ConnectorRow, ServiceRow, StackStatus, TableRow, look
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.iceberg.table.commit import OFFSETS
from frazil.environment.settings import Settings
from frazil.minio.deployment.connectors import connectors
from frazil.minio.deployment.deploy import deploy
from frazil.minio.records.kinds import CONNECTOR_NAMES
from frazil.stack.connect import sources_service
from frazil.stack.local import LocalStack
from tests.cli.verbs.test_data import counts
from tests.connectors.samples import MINIMAL_S3_SINK
from tests.isolation import isolated_settings
from tests.rest_worker import rest_worker
from tests.waits import eventually
from tests.worker.lifecycle.runners import ScriptedFactory

SHAPES = {
    "services": ["name", "state", "address", "pid", "reason"],
    "connectors": ["name", "state", "tasks", "lag", "trace", "dead_letters", "captured"],
    "tables": ["name", "state", "rows", "snapshot", "last_commit", "delete_files"],
}


@pytest.mark.parametrize(
    ("found", "up"),
    [
        (StackStatus(), True),
        (StackStatus([ServiceRow("kafka", "running", "a:1"), ServiceRow("worker", "external", "b:1")]), True),
        (StackStatus([ServiceRow("kafka", "died", "a:1")]), False),
        (StackStatus([ServiceRow("kafka", "unready", "a:1")]), False),
        (StackStatus(connectors=[ConnectorRow("c", "RUNNING", ["RUNNING", "RUNNING"])]), True),
        (StackStatus(connectors=[ConnectorRow("c", "PAUSED", ["PAUSED"]), ConnectorRow("d", "STOPPED")]), True),
        (StackStatus(connectors=[ConnectorRow("c", "RUNNING", ["RUNNING", "FAILED"])]), False),
        (StackStatus(connectors=[ConnectorRow("c", "FAILED", [])]), False),
        (StackStatus(connectors=[ConnectorRow("c", "UNASSIGNED", [])]), True),
        (StackStatus(connectors=[ConnectorRow("c", MISSING)]), False),
        (StackStatus(tables=[TableRow("t", rows=0)]), True),
        (StackStatus(tables=[TableRow("t", MISSING)]), False),
        (StackStatus(errors=["Kafka does not answer"]), False),
    ],
)
def test_what_counts_as_down(found: StackStatus, up: bool) -> None:
    assert found.up is up


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    settings = isolated_settings(tmp_path / "home", FRAZIL_ENV_FILE=os.devnull)
    for name, value in settings.env.items():
        monkeypatch.setenv(name, value)
    return settings


def test_a_stack_that_does_not_run(stopped: Settings) -> None:
    shown = CliRunner().invoke(app, ["status"])
    assert shown.exit_code == 1
    assert [line.split()[:2] for line in shown.stdout.splitlines()[1:4]] == [
        ["seaweedfs", "stopped"],
        ["kafka", "stopped"],
        ["worker", "stopped"],
    ]
    assert "is started by `start`" in shown.stdout
    assert not stopped.home.exists()


def test_json_always_has_the_same_members(stopped: Settings) -> None:
    shown = CliRunner().invoke(app, ["status", "-o", "json"])
    assert shown.exit_code == 1
    found = json.loads(shown.stdout)
    assert list(found) == ["up", "services", "connectors", "tables", "dead_letters", "foreign_letters", "errors"]
    assert found["up"] is False
    assert found["dead_letters"] is None
    assert [list(service) for service in found["services"]] == [SHAPES["services"]] * 3
    assert (found["connectors"], found["tables"]) == ([], [])
    assert found["errors"] == [
        "Connectors, and the tables that they name, are not known, as the worker does not run: `start worker`."
    ]


@pytest.mark.parametrize(
    ("state", "code", "text"),
    [("UNASSIGNED", 0, "Still starting: c."), ("RESTARTING", 1, "c: the catalog is away"), ("PAUSED", 0, "PAUSED")],
)
def test_a_connector_that_waits_for_a_part_is_down_and_one_that_starts_is_not(
    stopped: Settings, monkeypatch: pytest.MonkeyPatch, state: str, code: int, text: str
) -> None:
    trace = "the catalog is away" if state == "RESTARTING" else ""
    found = StackStatus(connectors=[ConnectorRow("c", state, [state], 0, trace)])
    monkeypatch.setattr("frazil.cli.verbs.status.look", lambda settings: found)
    shown = CliRunner().invoke(app, ["status"])
    assert shown.exit_code == code
    assert text in shown.stdout


def test_how_far_a_source_is_stands_below_the_connectors(stopped: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ConnectorRow("shop", "RUNNING", ["RUNNING"], captured={"Snapshot": "running: 3 of 5 tables", "Changes": "7"})
    monkeypatch.setattr("frazil.cli.verbs.status.look", lambda settings: StackStatus(connectors=[row]))
    assert "shop: snapshot: running: 3 of 5 tables; changes: 7" in CliRunner().invoke(app, ["status"]).stdout


@pytest.mark.parametrize(("errors", "told"), [([], True), (["GET http://a:1/connectors: 401"], False)])
def test_that_there_is_no_connector_is_said_by_who_could_look(
    stopped: Settings, monkeypatch: pytest.MonkeyPatch, errors: list[str], told: bool
) -> None:
    found = StackStatus([ServiceRow("worker", "running", "a:1")], errors=errors)
    monkeypatch.setattr("frazil.cli.verbs.status.look", lambda settings: found)
    assert ("No connector is deployed" in CliRunner().invoke(app, ["status"]).stdout) is told


@pytest.mark.parametrize(
    ("state", "tasks", "told"),
    [
        ("RUNNING", ["RUNNING", "FAILED"], "1 of 2 tasks FAILED"),
        ("RUNNING", ["FAILED"], "1 of 1 task FAILED"),
        ("FAILED", ["FAILED"], "c FAILED"),
    ],
)
def test_a_connector_whose_task_has_failed_is_shown_so(
    stopped: Settings, monkeypatch: pytest.MonkeyPatch, state: str, tasks: list[str], told: str
) -> None:
    found = StackStatus(connectors=[ConnectorRow("c", state, tasks, 0, "no int")])
    monkeypatch.setattr("frazil.cli.verbs.status.look", lambda settings: found)
    assert told in " ".join(CliRunner().invoke(app, ["status"]).stdout.split())


def test_what_was_never_asked_for_is_not_missing(stopped: Settings, tmp_path: Path) -> None:
    own = MINIMAL_S3_SINK | {"name": "events", "connector.class": "ObjectSink"}
    with rest_worker(tmp_path / "worker") as (url, _), ConnectClient(url) as client:
        settings = Settings({**stopped.env, "KAFKA_CONNECT_URL": url, "SOURCE_CONNECT_URL": "http://127.0.0.1:9"})
        assert (look(settings).connectors, look(settings).tables) == ([], [])
        client.put_config("events", own)
        found = look(settings)
    assert ([row.name for row in found.connectors], found.tables) == (["events"], [])
    assert {row.name: row.state for row in found.services}["sources"] == "external"


def test_a_worker_in_the_foreground_is_known(stopped: Settings) -> None:
    from frazil.cli.verbs.stack import worker_service

    with worker_service(stopped).process_file.of_this_process():
        found = {row.name: row for row in look(stopped).services}["worker"]
        assert (found.state, found.pid) == ("unready", os.getpid())
        assert "does not listen on port" in found.reason
    assert {row.name: row for row in look(stopped).services}["worker"].state == "stopped"


def test_the_runtime_of_sources_is_shown_while_it_runs(stopped: Settings) -> None:
    assert "sources" not in [row.name for row in look(stopped).services]
    runtime = sources_service(stopped, {})
    process = runtime.process_file.launch(["sleep", "60"], {}, None, stopped.logs / "x.log")
    try:
        found = {row.name: row for row in look(stopped).services}
        assert (found["sources"].state, found["sources"].pid) == ("unready", process.pid)
    finally:
        runtime.stop(5)


@pytest.fixture
def deployed(
    stack: LocalStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[tuple[Settings, ScriptedFactory]]:
    """Broker, store and catalog as somebody else's, with the log connectors on a worker without Spark."""
    name = request.node.originalname.removeprefix("test_")
    topics = {f"{kind}_LOGS_TOPIC": f"status.{name}.{kind.lower()}" for kind in ("API", "ERROR", "AUDIT")}
    with rest_worker(tmp_path) as (url, factory):
        env = {
            **stack.settings.env,
            **topics,
            "NAMESPACE_NAME": f"status_{name}",
            "FRAZIL_ENV_FILE": os.devnull,
            "FRAZIL_HOME": str(tmp_path / "home"),
            "KAFKA_BOOTSTRAP_SERVERS": stack.settings.bootstrap_servers,
            "MINIO_ENDPOINT": stack.settings.s3_endpoint,
            "ICEBERG_CATALOG_URI": stack.settings.catalog_uri,
            "KAFKA_CONNECT_URL": url,
        }
        for key, value in env.items():
            monkeypatch.setenv(key, value)
        settings = Settings(env)
        deploy(settings, lambda step: None)
        eventually(lambda: all(row.up for row in look(settings).connectors))
        yield settings, factory


@pytest.mark.stack
def test_everything_is_up(deployed: tuple[Settings, ScriptedFactory]) -> None:
    settings, _ = deployed
    shown = CliRunner().invoke(app, ["status", "--output", "json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert {service["state"] for service in found["services"]} == {"external"}
    assert [row["name"] for row in found["connectors"]] == list(CONNECTOR_NAMES.values())
    for kind, members in SHAPES.items():
        assert [list(row) for row in found[kind]] == [members] * 3
    assert {row["lag"] for row in found["connectors"]} == {0}
    assert isinstance(found["dead_letters"], int)
    assert [(row["rows"], row["last_commit"]) for row in found["tables"]] == [(0, None)] * 3
    table = CliRunner().invoke(app, ["status"], env={"COLUMNS": ""})
    assert table.exit_code == 0
    assert f"{settings.namespace}.apilogs" in table.stdout


@pytest.mark.stack
def test_lag_counts_the_records_that_are_not_committed(deployed: tuple[Settings, ScriptedFactory]) -> None:
    settings, _ = deployed
    assert CliRunner().invoke(app, ["produce", settings.topics["error"], "-n", "7"]).exit_code == 0
    assert counts(settings) == [0, 7, 0]
    assert {row.name: row.lag for row in look(settings).connectors} == {
        "iceberg-sink-apilogs": 0,
        "iceberg-sink-errorlogs": 7,
        "iceberg-sink-auditlogs": 0,
    }


@pytest.mark.stack
def test_a_connector_whose_own_login_fails_leaves_the_others_as_they_are(
    deployed: tuple[Settings, ScriptedFactory], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (kafka_client, kafka_offsets, kafka_groups):
        monkeypatch.setattr(module, "TIMEOUT_S", 2.0)
    settings, _ = deployed
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="hush-4711";'
    own = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
    config = connectors(settings)["iceberg-sink-apilogs"]
    with ConnectClient(settings.connect_url) as client:
        client.put_config("a", config | {f"consumer.override.{key}": value for key, value in own.items()})
    found = look(settings)
    assert {row.name: row.lag for row in found.connectors} == dict.fromkeys(CONNECTOR_NAMES.values(), 0) | {"a": None}
    assert found.dead_letters is not None
    [error] = found.errors
    assert "consumer.override.security.protocol=SASL_PLAINTEXT" in error
    assert "hush" not in error


@pytest.mark.stack
def test_a_failed_connector_with_its_reason(deployed: tuple[Settings, ScriptedFactory]) -> None:
    _, factory = deployed
    factory.last("iceberg-sink-apilogs").fail("ConnectException: topic-0@5 column a.b: no int\n\tat somewhere")
    shown = eventually_exit(1)
    assert "iceberg-sink-apilogs: ConnectException: topic-0@5 column a.b: no int\n" in shown
    assert "at somewhere" not in shown


@pytest.mark.stack
def test_a_connector_that_is_not_deployed(deployed: tuple[Settings, ScriptedFactory]) -> None:
    settings, _ = deployed
    with ConnectClient(settings.connect_url) as client:
        client.delete("iceberg-sink-auditlogs")
    shown = eventually_exit(1)
    assert f"iceberg-sink-auditlogs  {MISSING}" in shown
    assert "What is MISSING of the log records is created by `init`." in shown


@pytest.mark.stack
def test_tables_of_ones_own(deployed: tuple[Settings, ScriptedFactory]) -> None:
    """One that is to be created is not missed; one that has to be there is, and `init` does not make it."""
    settings, _ = deployed
    config = connectors(settings)["iceberg-sink-apilogs"]
    with ConnectClient(settings.connect_url) as client:
        client.put_config("own", {**config, "iceberg.tables": f"{settings.namespace}.own"})
        created = {"iceberg.tables": f"{settings.namespace}.made", "iceberg.tables.auto-create-enabled": "true"}
        client.put_config("made", {**config, **created})
    shown = eventually_exit(1)
    assert f"Table {settings.namespace}.own does not exist: create it, or set iceberg.tables.auto-create" in shown
    assert "created by `init`" not in shown
    assert f"{settings.namespace}.made" not in shown
    assert [row.name for row in look(settings).connectors] == [*CONNECTOR_NAMES.values(), "made", "own"]


@pytest.mark.stack
def test_tables_that_records_name(deployed: tuple[Settings, ScriptedFactory]) -> None:
    """Those that have the position of a connector which names none, as one that follows a database."""
    settings, _ = deployed
    config = {**connectors(settings)["iceberg-sink-apilogs"], "frazil.tables.topic-pattern": "n.{topic}"}
    del config["iceberg.tables"]
    catalog = connect(settings.catalog_properties())
    for name, owner in (("named", "by-topic"), ("others", "gone")):
        properties = {f"{OFFSETS}.{owner}.t": "{}"}
        catalog.create_table(
            f"{settings.namespace}.{name}", Schema(NestedField(1, "x", LongType())), properties=properties
        )
    with ConnectClient(settings.connect_url) as client:
        client.put_config("by-topic", config)
    assert f"{settings.namespace}.named" in [row.name for row in look(settings).tables]
    assert f"{settings.namespace}.others" not in [row.name for row in look(settings).tables]


@pytest.mark.stack
def test_open_dead_letters_are_counted(deployed: tuple[Settings, ScriptedFactory]) -> None:
    settings, _ = deployed
    begun = look(settings)
    before, foreign = begun.dead_letters, begun.foreign_letters
    headers: dict[str, str | bytes | None] = {
        "__connect.errors.topic": b"t",
        "__connect.errors.partition": b"0",
        "__connect.errors.offset": b"7",
    }
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers})
    producer.produce(f"{settings.topics['api']}-dlq", b"x", headers=headers)
    assert producer.flush(10) == 0
    assert before is not None
    found = look(settings)
    assert found.dead_letters == before + 1
    assert found.foreign_letters == foreign + 1, "it does not tell its connector"
    assert re.search(
        r"\d of them of connectors that the worker does not have: `deadletters list` says why",
        CliRunner().invoke(app, ["status"]).stdout,
    )


@pytest.mark.stack
def test_a_table_that_is_gone(deployed: tuple[Settings, ScriptedFactory]) -> None:
    settings, _ = deployed
    connect(settings.catalog_properties()).drop_table((settings.namespace, "errorlogs"))
    found = look(settings)
    assert [(row.name.rpartition(".")[2], row.state) for row in found.tables] == [
        ("apilogs", "ok"),
        ("errorlogs", MISSING),
        ("auditlogs", "ok"),
    ]
    assert found.up is False


@pytest.mark.stack
@pytest.mark.parametrize("part", ["KAFKA_BOOTSTRAP_SERVERS", "ICEBERG_CATALOG_URI", "KAFKA_CONNECT_URL"])
def test_a_part_that_does_not_answer_is_named(
    deployed: tuple[Settings, ScriptedFactory], free_ports: Callable[[int], list[int]], part: str
) -> None:
    settings, _ = deployed
    [port] = free_ports(1)
    address = f"127.0.0.1:{port}" if part == "KAFKA_BOOTSTRAP_SERVERS" else f"http://127.0.0.1:{port}"
    found = look(Settings({**settings.env, part: address}))
    assert found.up is False
    assert len(found.errors) == 1
    assert address in found.errors[0]


def eventually_exit(code: int) -> str:
    """What `status` shows once it ends with this exit code."""
    shown = ""

    def ended() -> bool:
        nonlocal shown
        result = CliRunner().invoke(app, ["status"])
        shown = result.stdout
        return result.exit_code == code

    eventually(ended)
    return shown
