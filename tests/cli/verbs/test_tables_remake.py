"""`tables remake` on the catalog of the stack, in front of a worker whose connectors store nothing by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, DoubleType, IntegerType, NestedField, PrimitiveType
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.cli.verbs import tables_remake
from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.iceberg.table.commit import Commit, TableBranch
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import FrazilError, ServiceUnavailable, UsageError
from frazil.stack.local import LocalStack
from tests.connectors.samples import MINIMAL_SINK
from tests.rest_worker import rest_worker
from tests.waits import eventually

pytestmark = pytest.mark.stack
NAMESPACE, PRICE = "remade", "frazil.schema.path.price"
TYPED = ("-s", f"{PRICE}=decimal(10,2)")


@dataclass
class Place:
    """A table with the connector `orders`, and what `orders-2` is going to store when it is waited for."""

    catalog: Catalog
    client: ConnectClient
    table: str
    topic: str
    bootstrap: str

    def store(self, name: str, connector: str, price: PrimitiveType) -> None:
        """Make a table with a row, and the position of a connector."""
        self.catalog.create_table(name, Schema(NestedField(1, "id", IntegerType()), NestedField(2, "price", price)))
        place = TableBranch(self.catalog, name, "main")
        self.catalog.load_table(name).append(pa.table({"id": pa.array([1], pa.int32())}))
        table = place.load()
        commit = Commit(connector, [], {("t", 0): 0}, {("t", 0): 1}, KafkaIdentity("c", {"t": "id"}), None)
        place.commit(table, place.floor(table, connector), commit)

    def produce(self, *prices: str) -> None:
        """Produce records of the topic of the table."""
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for price in prices:
            producer.produce(self.topic, f'{{"id": 1, "price": {price}}}')
        assert producer.flush(20) == 0

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, ["tables", "remake", self.table, *arguments])

    def price(self, table: str) -> str:
        return str(self.catalog.load_table(table).schema().find_type("price"))

    def tables(self) -> set[str]:
        mine = self.table.partition(".")[2]
        return {name for _, name in self.catalog.list_tables(NAMESPACE) if name.startswith(mine)}


@pytest.fixture
def place(
    stack: LocalStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Place]:
    name = f"t{abs(hash(request.node.name))}"
    catalog = connect(stack.settings.catalog_properties())
    catalog.create_namespace_if_not_exists(NAMESPACE)
    with rest_worker(tmp_path) as (url, _), ConnectClient(url) as client:
        for key, value in {**stack.settings.env, "KAFKA_CONNECT_URL": url}.items():
            monkeypatch.setenv(key, value)
        place = Place(catalog, client, f"{NAMESPACE}.{name}", f"{name}-topic", stack.settings.bootstrap_servers)
        kafka_topics.ensure_topics(place.bootstrap, {place.topic: (1, {})})
        place.store(place.table, "orders", DoubleType())
        own = {
            "iceberg.tables": place.table,
            f"iceberg.table.{place.table}.commit-branch": "main",
            "topics": place.topic,
        }
        client.put_config("orders", {**MINIMAL_SINK, **own, "name": "orders", "consumer.override.group.id": "mine"})

        def stored(client: ConnectClient, settings: Any, connector: str, *_: Any) -> str:
            wanted = client.config(connector)
            if not catalog.table_exists(wanted["iceberg.tables"]):
                place.store(wanted["iceberg.tables"], connector, DecimalType(10, 2))
            return ""

        monkeypatch.setattr(tables_remake, "until_stored", stored)
        yield place


def test_the_new_table_takes_the_place(place: Place) -> None:
    before = place.client.config("orders")
    told = place.run(*TYPED, "--yes")
    assert told.exit_code == 0, (told.output, told.exception)
    assert "price: double → decimal(10, 2)" in told.stdout
    assert f"{place.table}: 1 row before, 1 row in {place.table}_remake" in told.stdout
    assert place.price(place.table) == "decimal(10, 2)"
    assert place.price(f"{place.table}_before") == "double"
    assert f"{place.table}_remake" not in [".".join(one) for one in place.catalog.list_tables(NAMESPACE)]
    assert place.client.connectors() == ["orders-2"]
    group = "consumer.override.group.id"
    expected = {**before, "name": "orders-2", PRICE: "decimal(10,2)"}
    assert place.client.config("orders-2") == {key: value for key, value in expected.items() if key != group}
    eventually(lambda: place.client.status("orders-2")["connector"]["state"] == "RUNNING")


@pytest.mark.parametrize("step", ["first rename", "second rename", "put_config", "resume", "delete"])
def test_what_was_interrupted_goes_on(place: Place, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    owner: Any = RestCatalog if step.endswith("rename") else ConnectClient
    method = "rename_table" if step.endswith("rename") else step
    fails_at = 2 if step in ("second rename", "resume") else 1
    works: Any = getattr(owner, method)
    calls: list[Any] = []

    def failing(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == fails_at:
            raise ServiceUnavailable("away")
        return works(*arguments)

    monkeypatch.setattr(owner, method, failing)
    assert isinstance(place.run(*TYPED, "--yes").exception, ServiceUnavailable)
    told = place.run(*TYPED, "--yes")
    assert told.exit_code == 0, (told.output, told.exception)
    assert (place.price(place.table), place.price(f"{place.table}_before")) == ("decimal(10, 2)", "double")
    assert len(place.tables()) == 2
    assert place.client.connectors() == ["orders-2"]
    assert place.client.config("orders-2")["iceberg.tables"] == place.table


def test_rows_that_are_in_no_topic_are_not_left_behind(place: Place) -> None:
    table = place.catalog.load_table(place.table)
    table.transaction().set_properties({"frazil.snapshot.main": '{"t":["slot",1,1,1,[]]}'}).commit_transaction()
    refused = place.run(*TYPED, "--yes")
    assert isinstance(refused.exception, UsageError)
    assert "were taken from the database, and are in no topic" in str(refused.exception)
    assert place.client.connectors() == ["orders"]


def test_without_consent_both_go_on(place: Place) -> None:
    refused = place.run(*TYPED)
    assert isinstance(refused.exception, UsageError) and "pass --yes" in str(refused.exception)
    assert place.client.connectors() == ["orders", "orders-2"]
    assert place.price(place.table) == "double"
    eventually(lambda: place.client.status("orders")["connector"]["state"] == "RUNNING")


def test_a_dry_run_changes_nothing(place: Place) -> None:
    told = place.run(*TYPED, "--dry-run")
    assert told.exit_code == 0, told.output
    assert f"+ {PRICE}=decimal(10,2)" in told.stdout
    assert (place.client.connectors(), len(place.tables())) == (["orders"], 1)


@pytest.mark.parametrize(
    ("config", "arguments", "reason"),
    [
        ({}, (), "it would be the same table"),
        ({}, ("-r", "frazil.nix"), "orders has no frazil.nix to remove"),
        ({"iceberg.tables": "remade.other"}, TYPED, "no connector of this worker writes to it"),
        ({"iceberg.tables": "{table},remade.other"}, TYPED, "has to be the only table of one connector"),
    ],
)
def test_what_cannot_be_remade(place: Place, config: dict[str, str], arguments: tuple[str, ...], reason: str) -> None:
    more = {key: value.format(table=place.table) for key, value in config.items()}
    place.client.put_config("orders", {**place.client.config("orders"), **more})
    refused = place.run(*arguments, "--yes")
    assert isinstance(refused.exception, FrazilError) and reason in str(refused.exception)
    assert (place.client.connectors(), len(place.tables())) == (["orders"], 1)


def test_a_remake_that_has_begun_takes_no_other_keys(place: Place) -> None:
    assert isinstance(place.run(*TYPED).exception, UsageError)
    for more in ((), ("--dry-run",)):
        refused = place.run("-s", f"{PRICE}=string", "--yes", *more)
        told = f"orders-2 is there already, with another {PRICE}"
        assert isinstance(refused.exception, UsageError) and told in str(refused.exception)
    assert place.price(place.table) == "double"
    assert place.client.connectors() == ["orders", "orders-2"]


def test_nothing_begins_when_all_records_would_be_dead_letters(place: Place) -> None:
    place.produce('"ten"', '"eleven"')
    for more in ((), ("--dry-run",)):
        refused = place.run(*TYPED, "--yes", *more)
        assert isinstance(refused.exception, UsageError)
        assert "2 of the newest 2 records would be dead letters, such as offset 0 of" in str(refused.exception)
    assert (place.client.connectors(), len(place.tables())) == (["orders"], 1)
    place.produce("12")
    told = place.run(*TYPED, "--dry-run")
    assert (told.exit_code, "2 of the newest 3 records would be dead letters" in told.stdout) == (0, True)


def test_a_dry_run_fails_where_the_connector_would_be_refused(place: Place) -> None:
    told = place.run("-s", f"{PRICE}=decimle(10,2)", "--dry-run")
    assert told.exit_code == 1
    assert "there is no type decimle" in told.stdout
    assert "orders-2: would be refused; nothing was changed" in told.stdout


def test_a_table_with_a_slip_of_the_pen_is_told_with_what_was_meant(place: Place) -> None:
    meant, place.table = place.table, f"{place.table}x"
    refused = place.run(*TYPED)
    assert isinstance(refused.exception, FrazilError) and f"did you mean {meant}" in str(refused.exception)


def test_tables_that_are_in_the_way_are_not_touched(place: Place) -> None:
    place.store(f"{place.table}_before", "other", DoubleType())
    refused = place.run(*TYPED, "--yes")
    assert isinstance(refused.exception, UsageError) and "drop or rename it" in str(refused.exception)
    assert place.client.connectors() == ["orders"]
