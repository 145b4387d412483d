"""Records find their tables: by expression, by name, by topic."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from frazil.clients.kafka import groups as kafka_groups
from tests.harness import Pipe, Worker, messages
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.spark

ITEMS = Schema(NestedField(1, "id", LongType()), NestedField(2, "kind", StringType()))
TOLERANT = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.context.headers.enable": "true",
}


def item(number: int, kind: Any, **more: Any) -> bytes:
    return json.dumps({"id": number, "kind": kind, **more}).encode()


def tables(pipe: Pipe, *suffixes: str) -> list[str]:
    names = [f"acceptance.{pipe.name}_{suffix}" for suffix in suffixes]
    for name in names:
        pipe.catalog().create_table(name, ITEMS)
    return names


def ids(pipe: Pipe, table: str) -> list[int]:
    return sorted(pipe.catalog().load_table(table).scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())


def snapshots(pipe: Pipe, *names: str) -> list[int]:
    return [len(pipe.catalog().load_table(name).metadata.snapshots) for name in names]


def ask(worker: Worker, pipe: Pipe, verb: str) -> None:
    httpx.put(
        f"{worker.settings.connect_url}/connectors/{pipe.connector}/{verb}", timeout=PATIENCE_S
    ).raise_for_status()


def test_expressions_choose_the_tables(worker: Worker, pipe: Pipe) -> None:
    a, b, idle = tables(pipe, "a", "b", "idle")
    regexes = {a: "a|both", b: "b|both", idle: "never"}
    config = pipe.config() | {"iceberg.tables": ",".join(regexes), "iceberg.tables.route-field": "kind"}
    config |= {f"iceberg.table.{name}.route-regex": regex for name, regex in regexes.items()}
    records = [item(0, "a"), item(1, "b"), item(2, "both"), item(3, "c"), None, b"[1]", item(4, "a1"), item(5, None)]
    pipe.send([*records, b'{"id":"x","kind":"both"}', item(6, "both")], partition=0)

    worker.client.put_config(pipe.connector, config | TOLERANT)
    eventually(lambda: pipe.lag() == 0)

    assert (ids(pipe, a), ids(pipe, b), ids(pipe, idle)) == ([0, 2, 6], [1, 2, 6], [])
    assert snapshots(pipe, a, b, idle) == [1, 1, 0]
    letters = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    found = sorted(
        (headers["__connect.errors.offset"].decode(), headers.get("frazil.deadletter.table", b"").decode())
        for headers in (dict(letter.headers()) for letter in letters)
    )
    assert found == [("5", ""), ("8", a), ("8", b)]
    assert eventually(lambda: worker.skipped(pipe.connector)) == {"unrouted": 3, "tombstone": 1}
    assert "3 records of this batch were left out, for they match no table" in worker.log()

    worker.client.restart(pipe.connector)
    pipe.send([item(7, "never"), item(8, "a")], partition=0)
    eventually(lambda: pipe.lag() == 0)
    assert (ids(pipe, a), ids(pipe, b), ids(pipe, idle)) == ([0, 2, 6, 8], [1, 2, 6], [7])
    assert len(messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")) == 3


def test_records_name_their_tables(worker: Worker, pipe: Pipe) -> None:
    """Also a table that is missing, and the positions of tables that are found again."""
    one, two = tables(pipe, "one", "two")
    missing = f"acceptance.{pipe.name}_missing"
    config = (
        pipe.config()
        | TOLERANT
        | {
            "iceberg.tables.dynamic-enabled": "true",
            "iceberg.tables.route-field": "kind",
        }
    )
    del config["iceberg.tables"]
    pipe.send([item(0, one.upper()), item(1, two), item(2, missing), item(3, "no table"), item(4, one)], partition=0)

    worker.client.put_config(pipe.connector, config)
    eventually(lambda: pipe.lag() == 0)

    assert (ids(pipe, one), ids(pipe, two)) == ([0, 4], [1])
    letters = [dict(m.headers()) for m in messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")]
    assert sorted((x["__connect.errors.offset"], x.get("frazil.deadletter.table")) for x in letters) == [
        (b"2", missing.encode()),
        (b"3", None),
    ]
    (text,) = [x["__connect.errors.exception.message"].decode() for x in letters if "frazil.deadletter.table" in x]
    assert f"table {missing} does not exist; create it" in text

    # A lost group makes the connector read everything again: the tables know what they have.
    ask(worker, pipe, "stop")
    eventually(lambda: worker.state(pipe.connector) == "STOPPED")
    kafka_groups.forget_group_offsets(pipe.settings.bootstrap_servers, f"connect-{pipe.connector}")
    tables(pipe, "missing")
    pipe.send([item(5, two)], partition=0)
    ask(worker, pipe, "resume")
    eventually(lambda: pipe.lag() == 0 and ids(pipe, missing))
    assert (ids(pipe, one), ids(pipe, two), ids(pipe, missing)) == ([0, 4], [1, 5], [2])


def test_topics_name_their_tables(worker: Worker, pipe: Pipe) -> None:
    config = pipe.config() | {"frazil.tables.topic-pattern": "acceptance.{topic}"}
    del config["iceberg.tables"]
    pipe.catalog().drop_table(pipe.table_name)
    pipe.catalog().create_table(pipe.table_name, ITEMS)
    pipe.send([item(n, "x") for n in range(5)])

    worker.client.put_config(pipe.connector, config)
    eventually(lambda: pipe.lag() == 0)

    assert pipe.ids() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dynamic", [True, False])
def test_without_tolerance_a_missing_table_stops_the_connector(worker: Worker, pipe: Pipe, dynamic: bool) -> None:
    (one,) = tables(pipe, "one")
    missing = f"acceptance.{pipe.name}_missing"
    config = pipe.config() | {"iceberg.tables": f"{one},{missing}"}
    if dynamic:
        config |= {"iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "kind"}
        del config["iceberg.tables"]
    pipe.send([item(0, one), item(1, missing), item(2, one)], partition=0)

    worker.client.put_config(pipe.connector, config)
    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    trace = worker.trace(pipe.connector)
    assert f"table {missing} does not exist; create it" in trace
    if dynamic:
        assert f"topic {pipe.name}, partition 0, offset 1" in trace
        tables(pipe, "missing")
        worker.client.restart(pipe.connector)
        eventually(lambda: pipe.lag() == 0)
        assert (ids(pipe, one), ids(pipe, missing)) == ([0, 2], [1])
