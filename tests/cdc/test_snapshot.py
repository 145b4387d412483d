"""The verb `snapshot`: a real PostgreSQL, and a catalog in memory whose commits fail or end the program."""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from frazil.cdc import snapshot as snapshots
from frazil.cli.main import app
from frazil.connectors.iceberg.table.taken import taken_rows
from frazil.connectors.iceberg.table.write import PartitionedWriter
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable
from frazil.pipeline.source_positions import EventPosition
from tests.cdc.stock import ROWS, Snapshot, slots, stored
from tests.connectors.broker import Killed
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.waits import eventually

pytestmark = pytest.mark.stack


@pytest.mark.usefixtures("database")
def test_tables_have_their_rows_and_the_same_command_leaves_them(snapshot: Snapshot, catalog: MemoryCatalog) -> None:
    result = snapshot()
    assert (result.exit_code, result.exception) == (0, None)
    told = json.loads(result.stdout)
    assert {one["target"]: one["rows"] for one in told} == {f"store.{name}": rows for name, rows in ROWS.items()}
    assert all(one["slot"] == "store" and one["seconds"] for one in told)
    head = catalog.load_table("store.big").current_snapshot()
    assert head is not None
    assert head.summary is not None
    assert head.summary.additional_properties["frazil.snapshot.source"] == "store.big"
    again = snapshot()
    assert [one["seconds"] for one in json.loads(again.stdout)] == [0, 0, 0]
    assert stored(catalog) == ROWS


@pytest.mark.usefixtures("database", "catalog")
def test_tables_are_compared_before_their_first_change(snapshot: Snapshot, postgres: Settings, tmp_path: Path) -> None:
    assert snapshot(None, {"topics.regex": "", "topics": ",".join(f"dbz.store.{name}" for name in ROWS)}).exit_code == 0
    access = postgres.postgres_access()
    address = (
        f"postgres://{access['user']}:{quote(access['password'])}@{access['host']}:{access['port']}/{access['dbname']}"
    )
    told = CliRunner().invoke(
        app, ["verify", "--config", str(tmp_path / "tables.json"), "--against", address, "-o", "json"]
    )
    assert {one["source"]: one["rows"] for one in json.loads(told.stdout) if one["equal"]} == {
        f"store.{name}": rows for name, rows in ROWS.items()
    }


@pytest.mark.parametrize("fault", ["killed before", "killed after", "lost before", "lost after", "refused"])
def test_a_commit_that_ends_badly_stores_rows_once(
    database: psycopg.Connection[Any], snapshot: Snapshot, catalog: MemoryCatalog, fault: str
) -> None:
    catalog.faults.append(fault)
    with pytest.raises(Killed) if fault.startswith("killed") else nullcontext():
        snapshot()
    before = slots(database)
    database.execute("DELETE FROM store.big WHERE id = 1")
    result = snapshot()
    assert (result.exit_code, result.exception) == (0, None)
    assert stored(catalog) == ROWS | ({"big": ROWS["big"] - 1} if fault == "killed before" else {})
    assert slots(database) == before


@pytest.mark.parametrize("step", ["make_slot", "taking", "ranges_of", "file_writer", "commit_taken"])
def test_an_end_at_any_step_is_gone_on_from(
    snapshot: Snapshot, catalog: MemoryCatalog, monkeypatch: pytest.MonkeyPatch, database: object, step: str
) -> None:
    def killed(*arguments: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(snapshots, step, killed)
        with pytest.raises(Killed):
            snapshot()
    result = snapshot()
    assert (result.exit_code, result.exception) == (0, None)
    assert stored(catalog) == ROWS


def test_a_connection_that_breaks_leaves_no_row(
    database: psycopg.Connection[Any], snapshot: Snapshot, catalog: MemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(blocks: int, connections: int) -> list[tuple[int, int | None]]:
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE state = 'idle in transaction' AND pid <> pg_backend_pid()"
        )
        return [(0, None)]

    with monkeypatch.context() as patch:
        patch.setattr(snapshots, "ranges_of", broken)
        refused = snapshot()
    assert isinstance(refused.exception, ServiceUnavailable)
    assert "the same command goes on" in str(refused.exception)
    assert catalog.load_table("store.big").current_snapshot() is None
    assert snapshot().exit_code == 0
    assert stored(catalog) == ROWS


def test_a_server_that_ends_while_it_sends_leaves_no_row(
    database: psycopg.Connection[Any], snapshot: Snapshot, catalog: MemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.execute("INSERT INTO store.big SELECT g, repeat('x', 1000), now() FROM generate_series(50001, 150000) g")
    add = PartitionedWriter.add

    def ended(self: PartitionedWriter, table: pa.Table) -> None:
        database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY (SELECT%'")
        add(self, table)

    with monkeypatch.context() as patch:
        patch.setattr(PartitionedWriter, "add", ended)
        refused = snapshot()
    assert isinstance(refused.exception, ServiceUnavailable)
    assert "store.big: the database failed" in str(refused.exception)
    assert catalog.load_table("store.big").current_snapshot() is None
    assert snapshot().exit_code == 0
    assert stored(catalog) == ROWS | {"big": 150_000}


@pytest.mark.parametrize("program", ["the first", "one after a kill"])
def test_the_rows_have_each_transaction_that_the_slot_does_not_bring(
    database: psycopg.Connection[Any], postgres: Settings, snapshot: Snapshot, catalog: MemoryCatalog, program: str
) -> None:
    access = postgres.postgres_access()
    with psycopg.connect(**access) as other, psycopg.connect(**access, autocommit=True) as killed:
        other.execute("INSERT INTO store.small VALUES (100, 'late', NULL)")
        make = "SELECT pg_create_logical_replication_slot('store', 'pgoutput')"
        of_killed = threading.Thread(target=lambda: killed.execute(make))
        if program != "the first":
            database.execute("CREATE PUBLICATION store FOR TABLES IN SCHEMA store")
            of_killed.start()
            eventually(lambda: slots(database))
        ends: list[Result] = []
        thread = threading.Thread(target=lambda: ends.append(snapshot()))
        thread.start()
        eventually(lambda: slots(database))
        assert thread.is_alive()
        other.commit()
        thread.join()
        if program != "the first":
            of_killed.join()
    assert ends[0].exit_code == 0
    assert stored(catalog)["small"] == ROWS["small"] + 1


def test_events_of_transactions_that_the_rows_have_are_told_from_later_ones(
    database: psycopg.Connection[Any], snapshot: Snapshot, catalog: MemoryCatalog
) -> None:
    def transaction(connection: psycopg.Connection[Any]) -> EventPosition:
        """A change and its event."""
        found = connection.execute(
            "UPDATE store.small SET value = 'x' WHERE id = 1 RETURNING pg_current_xact_id()::text::bigint, "
            "(pg_current_wal_lsn() - '0/0')::bigint, (extract(epoch FROM now()) * 1000)::bigint"
        ).fetchone()
        assert found is not None
        return EventPosition(None, found[1], found[2], snapshot=False, transaction=found[0] % 2**32)

    assert snapshot({"table.include.list": "store.big"}).exit_code == 0
    had = transaction(database)
    assert snapshot().exit_code == 0
    later = transaction(database)
    taken = taken_rows(catalog.load_table("store.small"), "main")["dbz.store.small"]
    assert taken.has(had)
    assert not taken.has(later)
