"""Upserts and change events in a real worker."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.iceberg.changes.compaction import FEWEST
from frazil.connectors.iceberg.table.commit import COMPACTED
from frazil.connectors.iceberg.tools.publish import publish
from frazil.errors import ConfigError
from tests.harness import Pipe, Worker, messages
from tests.waits import eventually

pytestmark = pytest.mark.spark

USERS = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "name", StringType()),
    NestedField(3, "city", StringType()),
    identifier_field_ids=[1],
)
BY_CITY = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "city"))
UPSERT = {"iceberg.tables.upsert-mode-enabled": "true"}
JSON_KEYS = {"key.converter": "org.apache.kafka.connect.json.JsonConverter", "key.converter.schemas.enable": "false"}
DEBEZIUM = JSON_KEYS | {
    "iceberg.tables.cdc-field": "_cdc.op",
    "iceberg.tables.evolve-schema-enabled": "false",
    "transforms": "dbz",
    "transforms.dbz.type": "io.tabular.iceberg.connect.transforms.DebeziumTransform",
}
TOLERANT = {"errors.tolerance": "all", "errors.deadletterqueue.context.headers.enable": "true"}


@pytest.fixture
def users(worker: Worker, request: pytest.FixtureRequest) -> Iterator[Pipe]:
    """A topic and a table of users, partitioned by city; the connector on them is deleted afterwards."""
    name = re.sub(r"[^a-z0-9]+", "_", request.node.name.lower()).strip("_")
    pipe = Pipe(worker.settings, name, USERS, BY_CITY).create()
    yield pipe
    if pipe.connector in worker.client.connectors():
        worker.client.delete(pipe.connector)


def user(number: int, name: str, city: str = "Graz", **more: object) -> bytes:
    return json.dumps({"id": number, "name": name, "city": city, **more}).encode()


def names(pipe: Pipe) -> dict[int, str]:
    rows = pipe.rows()
    assert len({row["id"] for row in rows}) == len(rows), rows
    return {row["id"]: row["name"] for row in rows}


def trace(worker: Worker, pipe: Pipe) -> str:
    eventually(lambda: worker.state(pipe.connector) == "FAILED")
    return worker.trace(pipe.connector)


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_each_record_replaces_the_row_with_its_key(worker: Worker, users: Pipe, mode: str) -> None:
    users.table().transaction().set_properties({"write.merge.mode": mode}).commit_transaction()
    users.send([user(n, "first", f"city-{n % 3}") for n in range(50)])
    worker.client.put_config(users.connector, users.config() | UPSERT)
    eventually(lambda: len(users.ids()) == 50)

    users.send([user(n, "second", f"city-{n % 2}") for n in range(0, 60, 2)], partition=0)
    users.send([user(0, "third"), user(2, "third", "Wien")], partition=0)

    expected = {n: "second" if n % 2 == 0 else "first" for n in range(60) if n < 50 or n % 2 == 0}
    eventually(lambda: names(users) == expected | {0: "third", 2: "third"})
    assert users.lag() == 0
    assert json.loads(users.summary()["frazil.offsets"])[users.name]


@pytest.mark.parametrize("by_need", ["true", "false"])
def test_a_table_that_changes_all_the_time_is_compacted_by_need(worker: Worker, users: Pipe, by_need: str) -> None:
    users.table().transaction().set_properties({"write.merge.mode": "merge-on-read"}).commit_transaction()
    keys = UPSERT | {"frazil.maintenance.by-need": by_need}
    worker.client.put_config(users.connector, users.config() | keys)
    expected: dict[int, str] = {}
    for number in range(FEWEST + 3):
        changed = range(number, 40, 1 + number)
        users.send([user(n, f"{number}") for n in changed], partition=0)
        expected |= dict.fromkeys(changed, f"{number}")
        eventually(lambda expected=expected: names(users) == expected)  # type: ignore[misc]
    compacted = [snapshot.summary.get(COMPACTED) for snapshot in users.table().snapshots() if snapshot.summary]
    assert any(compacted) == (by_need == "true")


def debezium(operation: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bytes:
    """An event of Debezium 3.6 for PostgreSQL without its schema."""
    source = {
        "version": "3.6.1.Final", "connector": "postgresql", "name": "dbz", "ts_ms": 1700000000000, "snapshot": "false",
        "db": "shop", "sequence": '["1","2"]', "ts_us": 1700000000000000, "ts_ns": 1700000000000000000,
        "schema": "public", "table": "users", "txId": 755, "lsn": 24023128, "xmin": None,
    }  # fmt: skip
    event = {
        "before": before,
        "after": after,
        "source": source,
        "op": operation,
        "ts_ms": 1700000000123,
        "transaction": None,
    }
    return json.dumps(event).encode()


def row(number: int, name: str, city: str = "Graz") -> dict[str, object]:
    return {"id": number, "name": name, "city": city}


def test_change_events_of_debezium(worker: Worker, users: Pipe) -> None:
    """D1 to D8: a snapshot, changes, deletes with tombstones, and a key that changes across partitions."""
    unknown: dict[str, Any] = {"name": None, "city": ""}
    users.send([debezium("r", None, row(n, "snapshot")) for n in range(6)], partition=0, key=b'{"id":0}')
    worker.client.put_config(users.connector, users.config() | DEBEZIUM)
    eventually(lambda: len(users.ids()) == 6)

    users.send(
        [
            debezium("u", None, row(1, "updated", "Linz")),
            debezium("c", None, row(7, "created")),
            debezium("d", {"id": 2, **unknown}, None),
            None,
            debezium("d", {"id": 3, **unknown}, None),
            None,
            debezium("r", None, row(4, "snapshot again")),
        ],
        partition=0,
        key=b'{"id":1}',
    )
    users.send([debezium("c", None, row(33, "was 3"))], partition=1, key=b'{"id":33}')
    users.send([debezium("m", None, None)], partition=2)

    expected = {0: "snapshot", 1: "updated", 4: "snapshot again", 5: "snapshot", 7: "created", 33: "was 3"}
    eventually(lambda: names(users) == expected)
    eventually(lambda: users.lag() == 0)
    assert [r["city"] for r in users.rows() if r["id"] == 1] == ["Linz"]


def test_a_value_that_debezium_leaves_out_stays_as_it_is(worker: Worker, users: Pipe) -> None:
    left_out = "__debezium_unavailable_value"
    users.send([debezium("c", None, row(key, f"long {key}")) for key in range(3)], partition=0)
    worker.client.put_config(users.connector, users.config() | DEBEZIUM)
    eventually(lambda: users.lag() == 0)
    users.send(
        [
            debezium("u", None, row(1, left_out, "Linz")),
            debezium("u", None, row(2, "short", "Linz")),
            debezium("u", None, row(2, left_out, "Wien")),
            debezium("c", None, row(3, "new")),
            debezium("u", None, row(3, left_out, "Graz")),
        ],
        partition=0,
    )

    eventually(lambda: users.lag() == 0)

    assert names(users) == {0: "long 0", 1: "long 1", 2: "short", 3: "new"}
    assert {r["id"]: r["city"] for r in users.rows() if r["id"]} == {1: "Linz", 2: "Wien", 3: "Graz"}


def test_records_that_cannot_be_changes_are_dead_letters(worker: Worker, users: Pipe) -> None:
    placeholder = "__debezium_unavailable_value"
    bad = [
        debezium("u", None, {"name": "no key"}),
        debezium("d", {"id": None, "name": "null key"}, None),
        debezium("u", None, row(9, placeholder)),
    ]
    users.send([debezium("c", None, row(1, "good")), *bad, debezium("c", None, row(2, "good"))], partition=0)
    worker.client.put_config(users.connector, users.config() | DEBEZIUM | TOLERANT)

    eventually(lambda: users.lag() == 0)

    assert names(users) == {1: "good", 2: "good"}
    letters = messages(users.settings.bootstrap_servers, f"{users.name}-dlq")
    assert [letter.value() for letter in letters] == bad
    reasons = [dict(letter.headers())["__connect.errors.exception.message"].decode() for letter in letters]
    assert "column id: the required value is missing" in reasons[0]
    assert "column id: the required value is null" in reasons[1]
    assert "column name: Debezium did not send the value" in reasons[2]


def test_without_tolerance_the_key_is_named(worker: Worker, users: Pipe) -> None:
    users.send([user(1, "good"), b'{"name":"x"}', user(2, "behind")], partition=0)
    worker.client.put_config(users.connector, users.config() | UPSERT)

    text = trace(worker, users)

    assert f"topic {users.name}, partition 0, offset 1" in text
    assert "column id: the required value is missing" in text
    assert names(users) == {1: "good"}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            {"iceberg.tables.default-id-columns": "id,nme,city.x"},
            "cannot find rows by nme (there is no such column) and city.x (there is no such column)",
        ),
        ({"iceberg.table.{table}.id-columns": "nope"}, "cannot find rows by nope (there is no such column)"),
    ],
    ids=["default", "own"],
)
def test_key_columns_that_are_not_there(worker: Worker, users: Pipe, more: dict[str, str], reason: str) -> None:
    keys = {key.replace("{table}", users.table_name): value for key, value in more.items()}
    users.send([user(1, "x")])
    worker.client.put_config(users.connector, users.config() | UPSERT | keys)

    text = trace(worker, users)

    assert "ConfigError" in text and f"{users.table_name} {reason}" in text
    assert users.rows() == []


def test_a_table_without_key_columns(worker: Worker, pipe: Pipe) -> None:
    missing = {"iceberg.tables": f"{pipe.table_name}_missing", "iceberg.tables.auto-create-enabled": "true"}
    for more in ({}, missing):
        with pytest.raises(ConfigError, match="has no identifier fields, so nobody knows which row"):
            worker.client.put_config(pipe.connector, pipe.config() | UPSERT | more)
    assert pipe.connector not in worker.client.connectors()
    assert not pipe.catalog().table_exists(missing["iceberg.tables"])


def test_the_example_of_the_page_stores_what_debezium_sends(worker: Worker, users: Pipe) -> None:
    """On the worker's own catalog, as it is printed but for names and the time between commits."""
    page = (Path(__file__).parents[2] / "docs/upserts.md").read_text()
    examples = map(json.loads, re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    example = next(one for one in examples if "transforms" in one)
    made = f"{users.table_name}_made"
    here = {"topics": users.name, "iceberg.tables": made, "iceberg.control.commit.interval-ms": "500"}
    users.send([debezium("c", None, row(n, "created")) for n in range(3)], partition=0, key=b'{"id":0}')
    users.send([debezium("u", None, row(1, "updated")), debezium("d", row(2, "created"), None)], partition=0)

    worker.client.put_config(users.connector, example | here)

    eventually(lambda: users.catalog().table_exists(made) and users.lag() == 0)
    rows = users.catalog().load_table(made).scan().to_arrow().to_pylist()
    assert {each["id"]: each["name"] for each in rows} == {0: "created", 1: "updated"}


def test_a_branch_is_written_and_published(worker: Worker, users: Pipe) -> None:
    catalog = users.catalog()
    users.send([user(n, "main") for n in range(3)])
    worker.client.put_config(users.connector, users.config() | UPSERT)
    eventually(lambda: len(users.ids()) == 3)

    worker.client.put_config(
        users.connector, users.config() | UPSERT | {"iceberg.tables.default-commit-branch": "audit"}
    )
    users.send([user(1, "audited"), user(9, "audited")], partition=0)
    eventually(lambda: users.lag() == 0)

    assert names(users) == {0: "main", 1: "main", 2: "main"}
    publish(catalog, users.table_name, "audit")
    assert names(users) == {0: "main", 1: "audited", 2: "main", 9: "audited"}
    ends = kafka_offsets.end_offsets(users.settings.bootstrap_servers, [users.name])
    stored = json.loads(users.summary()["frazil.offsets"])[users.name]
    assert {(users.name, int(p)): offset for p, offset in stored.items()} == ends
