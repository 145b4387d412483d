"""Tables are made and changed as records need it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, NestedField, StringType

from tests.harness import Pipe, Worker, messages
from tests.waits import eventually

pytestmark = pytest.mark.spark

EVENTS = [
    {"id": 1, "type": "type1", "ts": 1684408953000, "payload": "hello world!", "op": None},
    {"id": 2, "type": "type2", "ts": 1684408953001, "payload": "having fun?", "op": None},
]
TOLERANT = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.context.headers.enable": "true",
}
CREATE = {"iceberg.tables.auto-create-enabled": "true"}


def encoded(*records: Any) -> list[bytes]:
    return [json.dumps(record).encode() for record in records]


def shape(table: Table) -> dict[str, str]:
    return {field.name: str(field.field_type) for field in table.schema().fields}


def rows(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    found = table.scan(selected_fields=columns).to_arrow().to_pylist()
    return sorted(tuple(row[name] for name in columns) for row in found)


def run(worker: Worker, pipe: Pipe, config: Mapping[str, str]) -> None:
    worker.client.put_config(pipe.connector, dict(config))
    eventually(lambda: pipe.lag() == 0)


def test_a_missing_table_is_made_of_all_records_of_the_batch(worker: Worker, pipe: Pipe) -> None:
    name = f"acceptance_new.{pipe.name}.made"
    pipe.send(encoded({}, *EVENTS, {"id": 3, "more": {"x": 1}}), partition=0)
    config = (
        pipe.config()
        | CREATE
        | {
            "iceberg.tables": name,
            "iceberg.tables.default-partition-by": "bucket(id, 4), identity(type)",
            "iceberg.tables.auto-create-props.test-prop": "foo1",
        }
    )
    run(worker, pipe, config)

    table = pipe.catalog().load_table(name)
    assert list(shape(table)) == ["id", "type", "ts", "payload", "more"]
    assert [str(field.transform) for field in table.spec().fields] == ["bucket[4]", "identity"]
    assert table.properties["test-prop"] == "foo1"
    assert sorted(map(str, table.scan().to_arrow()["id"].to_pylist())) == ["1", "2", "3", "None"]
    assert len(table.metadata.snapshots) == 1


def test_records_make_the_tables_that_they_name(worker: Worker, pipe: Pipe) -> None:
    one, two, empty = (f"acceptance.{pipe.name}_{suffix}" for suffix in ("one", "two", "empty"))
    config = (
        pipe.config()
        | CREATE
        | TOLERANT
        | {
            "iceberg.tables.dynamic-enabled": "true",
            "iceberg.tables.route-field": "meta.table",
            "frazil.schema.path.meta": "ignore",
        }
    )
    del config["iceberg.tables"]
    pipe.send(encoded(*({"id": n, "meta": {"table": [one, two][n % 2]}} for n in range(6))), partition=0)
    pipe.send(encoded({"meta": {"table": empty}}), partition=0)
    run(worker, pipe, config)

    for name, ids in ((one, [0, 2, 4]), (two, [1, 3, 5])):
        table = pipe.catalog().load_table(name)
        assert shape(table) == {"id": "long"}
        assert rows(table, "id") == [(n,) for n in ids]
    (letter,) = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    headers = dict(letter.headers())
    assert headers["frazil.deadletter.table"] == empty.encode()
    assert b"Unable to create table from empty object" in headers["__connect.errors.exception.message"]
    assert not pipe.catalog().table_exists(empty)


def test_an_empty_object_makes_no_table(worker: Worker, pipe: Pipe) -> None:
    pipe.send([b"{}"], partition=0)
    worker.client.put_config(pipe.connector, pipe.config() | CREATE | {"iceberg.tables": "acceptance.e18"})
    eventually(lambda: worker.state(pipe.connector) == "FAILED")
    assert "offset 0: Unable to create table from empty object" in worker.trace(pipe.connector)


def test_partitions_that_do_not_fit_stop_the_connector(worker: Worker, pipe: Pipe) -> None:
    pipe.send(encoded(*EVENTS), partition=0)
    config = (
        pipe.config() | CREATE | {"iceberg.tables": "acceptance.e20", "iceberg.tables.default-partition-by": "day(ts)"}
    )
    worker.client.put_config(pipe.connector, config)
    eventually(lambda: worker.state(pipe.connector) == "FAILED")
    trace = worker.trace(pipe.connector)
    assert "acceptance.e20 cannot be partitioned by day(ts): the column is of type long" in trace
    assert not pipe.catalog().table_exists("acceptance.e20")


@pytest.fixture
def narrow(pipe: Pipe) -> Pipe:
    """A table of two columns."""
    pipe.catalog().drop_table(pipe.table_name)
    schema = Schema(NestedField(1, "id", IntegerType(), required=True), NestedField(2, "type", StringType()))
    pipe.catalog().create_table(pipe.table_name, schema)
    return pipe


def test_one_update_for_all_that_a_batch_needs(worker: Worker, narrow: Pipe) -> None:
    """New columns, a wider one, and one that becomes optional: in the batch that first shows the need."""
    before = len(narrow.table().metadata.schemas)
    wide = [{"id": 3_000_000_000, "price": 1.0}, {"type": "no id", "price": 1.5, "tags": {"a": 1}}]
    narrow.send(encoded(*EVENTS, *wide), partition=0)
    config = narrow.config() | {"iceberg.tables.schema-force-optional": "true", "frazil.schema.path.tags": "map"}
    run(worker, narrow, config)

    table = narrow.table()
    assert shape(table) == {
        "id": "long", "type": "string", "ts": "long", "payload": "string", "price": "double",
        "tags": "map<string, string>",
    }  # fmt: skip
    assert not table.schema().find_field("id").required
    assert (narrow.snapshots(), len(table.metadata.schemas)) == (1, before + 1)
    found = table.scan().to_arrow().to_pylist()
    assert sorted(row["id"] or 0 for row in found) == [0, 1, 2, 3_000_000_000]
    (row,) = [row for row in found if row["type"] == "no id"]
    assert (row["price"], row["tags"]) == (1.5, [("a", "1")])


def test_records_with_their_schema(worker: Worker, narrow: Pipe) -> None:
    fields = [
        {"field": "id", "type": "int64", "optional": False},
        {"field": "op", "type": "string", "optional": True},
        {"field": "ts", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "optional": True},
        {
            "field": "price",
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "parameters": {"scale": "2"},
            "optional": True,
        },
    ]
    payload = {"id": 1, "op": None, "ts": 1684408953000, "price": "MDk="}
    narrow.send(encoded({"schema": {"type": "struct", "fields": fields}, "payload": payload}), partition=0)
    run(worker, narrow, narrow.config() | {"value.converter.schemas.enable": "true"})

    table = narrow.table()
    assert shape(table) == {
        "id": "long", "type": "string", "op": "string", "ts": "timestamptz", "price": "decimal(38, 2)"
    }  # fmt: skip
    (row,) = table.scan().to_arrow().to_pylist()
    assert (row["id"], str(row["price"]), str(row["ts"])) == (1, "123.45", "2023-05-18 11:22:33+00:00")
