from __future__ import annotations

import json
import os
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.clients.catalog import connect
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.registry.access import RegistryAccess
from frazil.clients.registry.client import RegistryClient
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, UsageError
from frazil.pipeline.schemas.encode import encoder
from frazil.stack.local import LocalStack
from tests.harness import EVENTS, event, send
from tests.rest_worker import rest_worker

CONFIG = {
    "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
    "topics": "t",
    "iceberg.tables": "n.t",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://127.0.0.1:1",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


NOBODY = "http://127.0.0.1:1"


def validate(path: Path, config: dict[str, Any], *options: str, env: dict[str, str] | None = None) -> Result:
    file = path / "connector.json"
    file.write_text(json.dumps(config))
    return CliRunner().invoke(app, ["validate", str(file), *options], env={"KAFKA_CONNECT_URL": NOBODY, **(env or {})})


def test_a_good_configuration_is_told_with_its_warnings(tmp_path: Path) -> None:
    config = {**CONFIG, "iceberg.tabels": "x"}
    result = validate(tmp_path, {"name": "c", "config": config}, env={"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"})
    assert result.exit_code == 0
    warning, not_looked_for, not_asked, summary, by = result.output.splitlines()
    assert warning.startswith("WARNING  iceberg.tabels is not a key of this connector")
    assert not_looked_for.startswith("WARNING  the topics were not looked for: Kafka at 127.0.0.1:1 does not answer")
    assert not_asked.startswith("WARNING  the store was not asked: the Iceberg catalog at http://127.0.0.1:1 does not")
    assert summary == "c: 0 errors, 3 warnings"
    assert by.startswith(f"Checked with the settings of this shell, not those of a worker: the worker at {NOBODY} does")


def test_all_errors_are_told(tmp_path: Path) -> None:
    result = validate(tmp_path, {**CONFIG, "tasks.max": "0", "iceberg.tables": ""}, "-o", "json", "--sample", "5")
    assert result.exit_code == 1
    body = json.loads(result.output)
    assert body["name"] == "connector"
    assert len(body["errors"]) == 2
    assert (body["sample"], body["worker"]) == (None, None)


def test_one_mistake_is_one_error(tmp_path: Path) -> None:
    result = validate(tmp_path, {**CONFIG, "tasks.max": "zwei"})
    (error, *_, summary, _) = result.output.splitlines()
    assert error == "ERROR    Invalid value zwei for configuration tasks.max: Not a number of type INT"
    assert summary.startswith("connector: 1 error,")


def test_errors_hide_secrets(tmp_path: Path) -> None:
    result = validate(tmp_path, {**CONFIG, "iceberg.catalog.token": "hush-4711", "tasks.max": "hush-4711"})
    assert result.exit_code == 1
    assert "tasks.max" in result.output
    assert "hush" not in result.output


def test_columns_of_a_statement_are_said_to_be_unchecked(tmp_path: Path) -> None:
    last = "Not checked: the columns of the statement; `explain` and --sample do, with Spark"
    assert validate(tmp_path, SQL).output.splitlines()[-1] == last
    assert last not in validate(tmp_path, SQL | {"tasks.max": "zwei"}).output
    assert last not in validate(tmp_path, CONFIG).output


SQL = CONFIG | {"connector.class": "SqlSink", "frazil.sql": "SELECT id FROM t", "frazil.sql.schema": "id INT"}
FOLDER = {
    "CONNECT_CONFIG_PROVIDERS": "dir",
    "CONNECT_CONFIG_PROVIDERS_DIR_CLASS": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
}


@pytest.mark.parametrize("env", [{}, FOLDER], ids=["no provider", "a provider"])
@pytest.mark.parametrize(
    ("key", "text"), [("frazil.sql", "SELEC {}"), ("frazil.sql.schema", "id NO {}"), ("tasks.max", "{}")]
)
def test_a_value_of_a_provider_is_checked_too(tmp_path: Path, key: str, text: str, env: dict[str, str]) -> None:
    (tmp_path / "own").write_text(text.format("hush4711"))
    result = validate(tmp_path, SQL | {key: f"${{dir:{tmp_path}:own}}"}, env=env)
    if env or key != "tasks.max":
        assert (result.exit_code, type(result.exception)) == (1, SystemExit)
        assert f"{key}: " in result.output
    assert "hush" not in result.output


FILES = SQL | {"frazil.sql": "SELECT t.id FROM t JOIN files.countries c ON t.id = c.id"}


def test_the_word_of_the_worker_counts(tmp_path: Path) -> None:
    refusal = "frazil.sql joins with file countries, and FRAZIL_SQL_FILES names no folder of files"
    told: list[str] = [refusal]
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "countries.csv").write_text("id\n1\n")
    here = {"FRAZIL_SQL_FILES": str(tmp_path / "files")}
    assert validate(tmp_path, FILES, env=here).exit_code == 0
    alone = validate(tmp_path, FILES)
    assert (alone.exit_code, alone.output.startswith(f"ERROR    {refusal}")) == (1, True)
    with rest_worker(tmp_path / "worker", obstacles=lambda config: told) as (url, _):
        result = validate(tmp_path, FILES, env={**here, "KAFKA_CONNECT_URL": url})
        assert (result.exit_code, f"ERROR    {refusal}\n" in result.output) == (1, True)
        assert result.output.endswith(f"connector: 1 error, 0 warnings\nChecked by the worker at {url}\n")
        told.clear()
        result = validate(tmp_path, FILES, env={"KAFKA_CONNECT_URL": url})
        assert (result.exit_code, "ERROR" in result.output) == (0, False)
        assert "WARNING  the worker takes it, and the settings of this shell do not: frazil.sql joins" in result.output
        body = json.loads(validate(tmp_path, FILES, "-o", "json", env={"KAFKA_CONNECT_URL": url}).output)
        assert (body["worker"], body["errors"]) == (url, [])
        result = validate(tmp_path, FILES | {"tasks.max": "zwei"}, env={"KAFKA_CONNECT_URL": url})
        assert result.output.startswith("ERROR    Invalid value zwei for configuration tasks.max")
        assert "1 error," in result.output


def test_a_class_that_the_worker_does_not_have_is_refused(tmp_path: Path) -> None:
    source = {"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "p"}
    with rest_worker(tmp_path / "worker") as (url, _):
        result = validate(tmp_path, source, env={"KAFKA_CONNECT_URL": url})
    assert result.exit_code == 1
    assert "Failed to find any class that implements Connector" in result.output


def test_a_class_that_is_not_there_is_an_error_of_its_connector(tmp_path: Path) -> None:
    slip = CONFIG | {"connector.class": "IcebergSinkConector", "name": "a"}
    (tmp_path / "two.yaml").write_text("\n---\n".join(json.dumps(one) for one in (slip, CONFIG | {"tasks.max": "0"})))
    result = CliRunner().invoke(app, ["validate", str(tmp_path / "two.yaml")], env={"KAFKA_CONNECT_URL": NOBODY})
    assert result.exit_code == 1
    assert "Did you mean org.apache.iceberg.connect.IcebergSinkConnector?\na: 1 error, 0 warnings\n" in result.output
    assert "\ntwo: 1 error, 0 warnings\n" in result.output


@pytest.mark.parametrize(("key", "slip"), [("transforms.a.type", "ReplaceFields$Value"), ("value.converter", "Jsno")])
def test_keys_of_a_class_that_is_not_there_are_no_warnings(tmp_path: Path, key: str, slip: str) -> None:
    own = {"transforms": "a", "transforms.a.type": "ReplaceField$Value", "transforms.a.renames": "b:c", key: slip}
    body = json.loads(validate(tmp_path, CONFIG | own, "-o", "json").output)
    assert (len(body["errors"]), body["warnings"]) == (1, [])


@pytest.mark.parametrize("text", ["[]", "no json"])
def test_what_is_no_connector_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.json"
    file.write_text(text)
    result = CliRunner().invoke(app, ["validate", str(file)])
    assert isinstance(result.exception, UsageError)
    assert str(file) in str(result.exception)


class Place:
    """A topic, a table and a configuration between them."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder
        self.name = f"validate_{uuid.uuid4().hex[:8]}"
        self.table_name = f"{self.name}.events"
        catalog = connect(settings.catalog_properties())
        catalog.create_namespace(self.name)
        catalog.create_table(self.table_name, EVENTS)
        kafka_topics.ensure_topics(settings.bootstrap_servers, {self.name: (2, {})})

    def table(self) -> Table:
        return connect(self.settings.catalog_properties()).load_table(self.table_name)

    def send(self, *records: bytes | None) -> None:
        send(self.settings.bootstrap_servers, self.name, records, partition=1)

    def validate(self, *options: str, without: Collection[str] = (), **more: str) -> Result:
        catalog = {f"iceberg.catalog.{k}": v for k, v in self.settings.catalog_properties().items()}
        config = {**CONFIG, **catalog, "topics": self.name, "iceberg.tables": self.table_name}
        config = {key: value for key, value in (config | more).items() if key not in without}
        env = {**self.settings.env, "FRAZIL_ENV_FILE": os.devnull}
        return validate(self.folder, {"name": self.name, **config}, *options, env=env)


@pytest.fixture
def place(stack: LocalStack, tmp_path: Path) -> Place:
    return Place(stack.settings, tmp_path)


@pytest.mark.stack
def test_a_sample_shows_what_would_become_of_each_record(place: Place) -> None:
    place.send(event(1), event(2, extra={"deep": 1.5}), b"no json", None, event(3, count="many"))
    before = place.table().metadata_location
    result = place.validate("--sample", "10", "-o", "json", **{"iceberg.tables.evolve-schema-enabled": "true"})
    assert result.exit_code == 1
    body = json.loads(result.stdout)
    verdicts = [(each["offset"], each["verdict"]) for each in body["sample"]["records"]]
    assert verdicts == [(0, "stored"), (1, "stored"), (2, "dead letter"), (3, "skipped"), (4, "dead letter")]
    assert "count" in body["sample"]["records"][4]["reason"]
    [table] = body["sample"]["tables"]
    assert list(table["changes"]) == ["extra"]
    assert [row["id"] for row in table["rows"]] == [1, 2]
    assert table["rows"][1]["extra"] == {"deep": 1.5}
    assert place.table().metadata_location == before
    assert kafka_groups.all_group_offsets(place.settings.bootstrap_servers, f"connect-{place.name}") == {}


@pytest.mark.stack
def test_a_sample_is_a_table_for_people(place: Place) -> None:
    place.send(*(event(n) for n in range(30)), b"no json")
    result = place.validate("--sample", "20")
    assert result.exit_code == 1
    assert f"{place.table_name}  stored" in result.output
    assert f"{place.name}-1@11" in result.output
    assert "not JSON" in result.output
    assert result.output.count(f"{place.table_name} {{") == 3


@pytest.mark.stack
def test_good_records_end_with_0_and_a_missing_table_is_told(place: Place) -> None:
    assert place.validate("--sample", "5").exit_code == 0
    place.send(event(1))
    assert place.validate("--sample", "5").exit_code == 0
    result = place.validate("--sample", "5", **{"iceberg.tables": f"{place.name}.missing"})
    assert (result.exit_code, f"ERROR    table {place.name}.missing does not exist" in result.stdout) == (1, True)


@pytest.mark.stack
def test_a_sample_of_records_with_their_schema(place: Place) -> None:
    fields = [{"field": "id", "type": "int64"}, {"field": "time", "type": "string"}]
    payload = {"id": 1, "time": "2026-03-01T00:00:00Z"}
    place.send(json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": payload}).encode())
    result = place.validate("--sample", "5", "-o", "json", **{"value.converter.schemas.enable": "true"})
    assert (result.exit_code, json.loads(result.stdout)["sample"]["records"][0]["verdict"]) == (0, "stored")


@pytest.mark.stack
def test_a_sample_of_records_whose_schema_is_in_a_registry(place: Place, registry: Settings) -> None:
    cents = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    fields = [{"name": "id", "type": "long"}, {"name": "time", "type": "string"}, {"name": "price", "type": cents}]
    schema = json.dumps({"type": "record", "name": "Sale", "fields": fields})
    client = RegistryClient(RegistryAccess((registry.registry_url,)))
    encode = encoder(client, f"{place.name}-value", schema, protobuf=False)
    place.send(encode(b'{"id": 1, "time": "2026-03-01T00:00:00Z", "price": 1.25}'), b"no Avro")
    converter = {
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": registry.registry_url,
        "iceberg.tables.evolve-schema-enabled": "true",
    }
    result = place.validate("--sample", "5", "-o", "json", without=("value.converter.schemas.enable",), **converter)
    body = json.loads(result.stdout)["sample"]
    assert [each["verdict"] for each in body["records"]] == ["stored", "dead letter"]
    assert "does not begin with the id of a schema" in body["records"][1]["reason"]
    (table,) = body["tables"]
    assert (table["changes"], table["rows"][0]["price"]) == ({"price": "decimal(38,2)"}, "1.25")


@pytest.mark.stack
def test_a_table_that_would_be_made_refuses_records_without_its_id_columns(place: Place) -> None:
    place.send(b'{"id": 1, "o": {"a": 1}}', b'{"o": {"a": 2}}')
    creation = {
        "iceberg.tables": f"{place.name}.made",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.default-id-columns": "id",
    }
    result = place.validate("--sample", "5", "-o", "json", **creation)
    body = json.loads(result.stdout)["sample"]
    assert [each["verdict"] for each in body["records"]] == ["stored", "dead letter"]
    assert body["tables"][0]["changes"] == {"id": "long not null", "o": "struct<a: long>"}
    refused = place.validate("--sample", "5", **creation | {"iceberg.tables.default-id-columns": "key"})
    assert isinstance(refused.exception, ConfigError)
    assert "cannot be created with the id column key" in str(refused.exception)


def test_what_apply_takes_is_taken(tmp_path: Path) -> None:
    lines = "".join(f"{key}: '{value}'\n" for key, value in CONFIG.items())
    (tmp_path / "two.yaml").write_text(f"name: a\n{lines}---\nname: b\ntasks.max: 0\n{lines}")
    result = CliRunner().invoke(app, ["validate", str(tmp_path / "two.yaml"), "-o", "json"])
    assert result.exit_code == 1
    assert [(one["name"], len(one["errors"])) for one in json.loads(result.stdout)] == [("a", 0), ("b", 1)]
    (tmp_path / "events.yaml").write_text(lines)
    result = CliRunner().invoke(app, ["validate", str(tmp_path / "events.yaml")])
    assert (result.exit_code, "events: 0 errors" in result.stdout) == (0, True)


@pytest.mark.stack
def test_the_catalog_is_asked_for_warehouse_and_tables(place: Place) -> None:
    for more in ({}, {"iceberg.tables.auto-create-enabled": "true"}):
        result = place.validate(**{"iceberg.catalog.warehouse": "nosuch"}, **more)
        assert (result.exit_code, "has no warehouse 'nosuch'" in result.stdout) == (1, True)
    missing = f"{place.name}.nosuch"
    result = place.validate(**{"iceberg.tables": missing})
    assert (result.exit_code, f"ERROR    table {missing} does not exist" in result.stdout) == (1, True)
    result = place.validate(**{"iceberg.tables": missing, "iceberg.tables.auto-create-enabled": "true"})
    assert result.exit_code == 0


@pytest.mark.stack
def test_topics_that_do_not_exist_are_told_with_the_names_near_them(place: Place) -> None:
    assert "does not exist" not in place.validate().output
    servers, wrong = place.settings.bootstrap_servers, place.name.replace("validate", "valdiate")
    result = place.validate(topics=f"{place.name},{wrong}")
    told = f"the connector would fail: topic {wrong} does not exist at {servers}; did you mean {place.name}?"
    assert f"WARNING  {told}\n" in result.output
    assert result.exit_code == 0
    result = place.validate(**{"topics.regex": f"{wrong}.*"}, without=("topics",))
    assert f"would fail: no topic matches topics.regex={wrong}.* at {servers}\n" in result.output


@pytest.mark.stack
def test_changes_of_rows_that_nothing_identifies_are_an_error(place: Place) -> None:
    upsert = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.auto-create-enabled": "true"}
    for table in (place.table_name, f"{place.name}.nosuch"):
        result = place.validate(**upsert, **{"iceberg.tables": table})
        assert (result.exit_code, f"ERROR    {table} has no identifier fields" in result.stdout) == (1, True)
    result = place.validate(**upsert, **{"iceberg.tables.default-id-columns": "id"})
    assert result.exit_code == 0
