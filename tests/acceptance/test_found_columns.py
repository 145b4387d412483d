"""Statements over records whose columns are found: in a registry, and in the records themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.clients.registry.access import RegistryAccess
from frazil.clients.registry.client import RegistryClient
from frazil.environment.settings import Settings
from tests.acceptance.test_registry import encoded
from tests.harness import Pipe, Worker
from tests.waits import eventually

pytestmark = pytest.mark.spark

OLD: dict[str, Any] = {
    "type": "record",
    "name": "Sale",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
NEW: dict[str, Any] = {**OLD, "fields": [*OLD["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}


def statement(pipe: Pipe, name: str, sql: str, **more: str) -> dict[str, str]:
    keys = {
        "iceberg.tables": f"acceptance.{pipe.name}_{name}",
        "iceberg.tables.auto-create-enabled": "true",
        "frazil.sql": f"{sql} FROM `{pipe.name}`",
        "frazil.sql.schema": "inferred",
    }
    return {**pipe.config(), "connector.class": "SqlSink", **keys, **more}


def test_columns_of_records_stay_when_records_and_worker_change(worker: Worker, pipe: Pipe) -> None:
    key = f"frazil.sql.columns.{pipe.name}"
    pipe.send([b'{"id": 1, "price": 2.5}', b'{"id": 2, "tags": ["a"]}'], partition=0)
    config = statement(pipe, "rows", "SELECT *")
    worker.client.put_config(pipe.connector, config)
    assert worker.client.config(pipe.connector)[key] == "`id` BIGINT, `price` DOUBLE, `tags` ARRAY<STRING>"
    eventually(lambda: pipe.lag() == 0)

    pipe.send([b'{"id": 3, "price": 1, "more": true}'], partition=0)
    eventually(lambda: pipe.lag() == 0)
    worker.client.put_config(pipe.connector, {**config, "errors.tolerance": "all"})
    pipe.send([b'{"id": 4, "price": "x"}', b'{"id": 5, "more": true}'], partition=0)
    eventually(lambda: pipe.lag() == 0)

    assert "more" not in worker.client.config(pipe.connector)[key]
    rows = pipe.catalog().load_table(config["iceberg.tables"]).scan().to_arrow().to_pylist()
    assert sorted((row["id"], row["price"], row["tags"]) for row in rows) == [
        (1, 2.5, None),
        (2, None, ["a"]),
        (3, 1.0, None),
        (5, None, None),
    ]


def test_columns_of_the_newest_schema_are_kept_until_they_are_taken_anew(
    worker: Worker, pipe: Pipe, registry: Settings
) -> None:
    key, client = f"frazil.sql.columns.{pipe.name}", RegistryClient(RegistryAccess((registry.registry_url,)))
    old = client.register(f"{pipe.name}-value", json.dumps(OLD))
    config = statement(
        pipe,
        "sales",
        "SELECT *",
        **{
            "frazil.sql.schema": "registry",
            "value.converter": "io.confluent.connect.avro.AvroConverter",
            "value.converter.schema.registry.url": registry.registry_url,
            "iceberg.tables.evolve-schema-enabled": "true",
        },
    )
    del config["value.converter.schemas.enable"]
    worker.client.put_config(pipe.connector, config)
    assert worker.client.config(pipe.connector)[key] == "`id` BIGINT, `at` TIMESTAMP"
    new = client.register(f"{pipe.name}-value", json.dumps(NEW))
    pipe.send([encoded(old, OLD, {"id": 1, "at": 1}), encoded(new, NEW, {"id": 2, "at": 2, "note": "n"})], partition=0)
    eventually(lambda: pipe.lag() == 0)

    worker.client.put_config(pipe.connector, {**config, "errors.tolerance": "all"})
    eventually(lambda: "the newest schema of topic" in worker.log())
    worker.client.patch_config(pipe.connector, {key: None})
    assert worker.client.config(pipe.connector)[key] == "`id` BIGINT, `at` TIMESTAMP, `note` STRING"
    pipe.send([encoded(new, NEW, {"id": 3, "at": 3, "note": "n"})], partition=0)
    eventually(lambda: pipe.lag() == 0)

    rows = pipe.catalog().load_table(config["iceberg.tables"]).scan().to_arrow().to_pylist()
    assert sorted((row["id"], row["note"]) for row in rows) == [(1, None), (2, None), (3, "n")]
