"""A connector stores every record once, with offsets in the snapshot."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from tests.harness import Pipe, Transactions, Worker, event
from tests.waits import eventually

pytestmark = pytest.mark.spark


def test_every_value_arrives_exactly(worker: Worker, pipe: Pipe) -> None:
    records = [event(n) for n in range(500)]
    pipe.send(records)
    worker.client.put_config(pipe.connector, pipe.config())

    eventually(lambda: len(pipe.ids()) >= 500)

    expected = []
    for record in map(json.loads, records):
        record["time"] = datetime.fromisoformat(record["time"]).astimezone(UTC)
        record["labels"] = list(record["labels"].items())
        expected.append(record)
    assert sorted(pipe.rows(), key=lambda row: row["id"]) == expected


def test_snapshot_carries_source_offsets_and_commit_id(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(n) for n in range(30)])
    worker.client.put_config(pipe.connector, pipe.config())

    eventually(lambda: len(pipe.ids()) == 30)

    summary = pipe.summary()
    ends = kafka_offsets.end_offsets(pipe.settings.bootstrap_servers, [pipe.name])
    stored = json.loads(summary["frazil.offsets"])[pipe.name]
    assert {(pipe.name, int(p)): offset for p, offset in stored.items()} == ends
    assert summary["frazil.connector"] == pipe.connector
    assert summary["frazil.kafka.cluster-id"] == kafka_client.cluster_id(pipe.settings.bootstrap_servers)
    assert len(summary["kafka.connect.commit-id"]) == 36
    assert not any(
        key.startswith("kafka.connect.offsets.") for key in summary
    )  # a return to Connect must not read them


def test_offsets_are_mirrored_to_the_consumer_group(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(n) for n in range(10)])
    worker.client.put_config(pipe.connector, pipe.config())

    eventually(lambda: pipe.lag() == 0)

    group = kafka_groups.all_group_offsets(pipe.settings.bootstrap_servers, f"connect-{pipe.connector}")
    assert group == kafka_offsets.end_offsets(pipe.settings.bootstrap_servers, [pipe.name])


def test_files_follow_the_partition_spec(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(n, bucket=None if n == 0 else f"büc/k%20 {n % 2}") for n in range(40)])
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: len(pipe.ids()) == 40)

    partitions = pipe.table().inspect.partitions().to_pylist()

    days = {(p["partition"]["time_day"].day, p["partition"]["bucket"]): p["record_count"] for p in partitions}
    assert days == {(1, None): 1, (1, "büc/k%20 0"): 19, (2, "büc/k%20 1"): 20}


def test_tombstones_are_skipped_and_counted(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(1), None, b"null", event(2)], key=b"k")
    worker.client.put_config(pipe.connector, pipe.config())

    eventually(lambda: pipe.ids() == [1, 2])
    eventually(lambda: pipe.lag() == 0)
    eventually(lambda: worker.skipped(pipe.connector) == {"tombstone": 2})


def test_new_fields_are_stored_with_the_batch_that_first_had_them(worker: Worker, pipe: Pipe) -> None:
    pipe.send(
        [
            event(1),
            event(2, extra="first", info={"size": 2, "note": "n", "depth": 7}),
            event(3, extra="second", more={"a": [1, 2], "b": {"c": 1.5}}),
            event(4, nothing=None),
        ]
    )
    worker.client.put_config(pipe.connector, pipe.config())

    eventually(lambda: len(pipe.ids()) == 4)

    rows = {row["id"]: row for row in pipe.rows()}
    assert [rows[n]["extra"] for n in (1, 2, 3, 4)] == [None, "first", "second", None]
    assert rows[2]["info"]["depth"] == 7
    assert rows[1]["info"]["depth"] is None
    assert rows[3]["more"] == {"a": [1, 2], "b": {"c": 1.5}}
    assert "nothing" not in rows[4]


def test_unknown_fields_are_ignored_without_evolution(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(1, extra="x"), event(2, info={"size": 1, "deep": {"er": 1}})])
    worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.tables.evolve-schema-enabled": "false"})

    eventually(lambda: pipe.ids() == [1, 2])

    assert set(pipe.rows()[0]) == {"id", "time", "bucket", "count", "labels", "info"}


def test_several_tables_each_get_every_record(worker: Worker, pipe: Pipe) -> None:
    second = f"{pipe.table_name}_second"
    pipe.catalog().create_table(second, pipe.schema)
    pipe.send([event(n) for n in range(20)])
    worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.tables": f"{pipe.table_name}, {second}"})

    eventually(lambda: len(pipe.ids()) == 20)
    eventually(lambda: pipe.catalog().load_table(second).scan().count() == 20)


def test_a_connector_name_may_have_any_letters(worker: Worker, pipe: Pipe) -> None:
    name = "sink ü/%20:" + "x" * 100
    pipe.send([event(1)])
    worker.client.put_config(name, pipe.config())
    try:
        eventually(lambda: pipe.ids() == [1])
        assert worker.state(name) == "RUNNING"
    finally:
        worker.client.delete(name)


@pytest.mark.parametrize("all_of_it", [False, pytest.param(True, marks=pytest.mark.faults)])
def test_what_was_rolled_back_is_stored_again(worker: Worker, pipe: Pipe, all_of_it: bool) -> None:
    table = pipe.table()
    table.append(table.schema().as_arrow().empty_table())
    before = table.current_snapshot()
    worker.client.put_config(pipe.connector, pipe.config())
    pipe.send([event(n) for n in range(10)])
    eventually(lambda: len(pipe.ids()) == 10)
    first = pipe.table().current_snapshot()
    pipe.send([event(n) for n in range(10, 20)])
    eventually(lambda: len(pipe.ids()) == 20)

    to = before if all_of_it else first
    assert to is not None
    pipe.table().manage_snapshots().rollback_to_snapshot(to.snapshot_id).commit()
    assert pipe.ids() == ([] if all_of_it else list(range(10)))
    pipe.send([event(20)])

    eventually(lambda: pipe.ids() == list(range(21)))


def test_committed_records_are_stored_while_a_transaction_is_open(worker: Worker, pipe: Pipe) -> None:
    transactions = Transactions(pipe.settings.bootstrap_servers, pipe.name)
    transactions.begin(event(n) for n in range(5))
    transactions.commit()
    transactions.begin(event(n) for n in range(100, 110))
    worker.client.put_config(pipe.connector, pipe.config(consumer__override__isolation__level="read_committed"))
    eventually(lambda: pipe.ids() == [*range(5)])

    transactions.abort()
    transactions.begin(event(n) for n in range(5, 8))
    transactions.commit()
    eventually(lambda: pipe.ids() == [*range(8)])
    assert worker.state(pipe.connector) == "RUNNING"
