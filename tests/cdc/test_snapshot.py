"""The verb `snapshot`: a real PostgreSQL, and a catalog in memory whose commits fail or end the program."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
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
from frazil.cli.ui.letter_connectors import Connectors
from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.table.taken import taken_rows
from frazil.connectors.iceberg.table.write import PartitionedWriter
from frazil.declare.definition import HIDDEN
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, ServiceUnavailable, UsageError
from frazil.pipeline.source_positions import EventPosition
from tests.connectors.broker import Killed
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.waits import eventually

pytestmark = pytest.mark.stack

JSON = {
    f"{part}.converter{option}": value
    for part in ("key", "value")
    for option, value in (("", "org.apache.kafka.connect.json.JsonConverter"), (".schemas.enable", "true"))
}
SINK = JSON | {
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics.regex": r"dbz\..*",
    "frazil.cdc.format": "debezium",
    "frazil.tables.topic-pattern": "store.{topic}",
    "iceberg.tables.auto-create-enabled": "true",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://127.0.0.1:9",
    "transforms": "table",
    "transforms.table.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.table.regex": r".*\.(.*)",
    "transforms.table.replacement": "$1",
}
ROWS = {"big": 50_000, "empty": 0, "small": 3}
Snapshot = Callable[..., Result]


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryCatalog:
    made = MemoryCatalog(tmp_path, {})
    monkeypatch.setattr(catalogs, "connect", lambda properties, name: made)
    return made


@pytest.fixture
def database(postgres: Settings) -> Iterator[psycopg.Connection[Any]]:
    """A connection; the tables `big` and `small` of the schema `store`, and no slot."""
    with psycopg.connect(**postgres.postgres_access(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA store")
        for name, rows in ROWS.items():
            connection.execute(f"CREATE TABLE store.{name} (id int PRIMARY KEY, value text, at timestamptz)")
            insert = f"INSERT INTO store.{name} SELECT g, 'v' || g, now() FROM generate_series(1, %s) g"  # noqa: S608
            connection.execute(insert, [rows])
        yield connection
        connection.execute("DROP SCHEMA store CASCADE")
        connection.execute("DROP PUBLICATION IF EXISTS store")
        connection.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")


@pytest.fixture
def snapshot(postgres: Settings, catalog: MemoryCatalog, tmp_path: Path) -> Snapshot:
    """Runs the verb; keys of the two connectors may be given."""
    access = postgres.postgres_access()
    names = {"hostname": "host", "port": "port", "user": "user", "password": "password", "dbname": "dbname"}
    source = JSON | {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        **{f"database.{name}": str(access[key]) for name, key in names.items()},
        "topic.prefix": "dbz",
        "schema.include.list": "store",
        "plugin.name": "pgoutput",
        "slot.name": "store",
        "publication.name": "store",
        "publication.autocreate.mode": "filtered",
        "snapshot.mode": "no_data",
    }

    def run(
        of_source: dict[str, str] | None = None, of_sink: dict[str, str] | None = None, name: str = "tables"
    ) -> Result:
        files = []
        for one, config in (("source", source | (of_source or {})), (name, SINK | (of_sink or {}))):
            files.append(str(tmp_path / f"{one}.json"))
            Path(files[-1]).write_text(json.dumps({"name": one, "config": config}))
        return CliRunner().invoke(app, ["snapshot", *files, "-o", "json"])

    return run


def stored(catalog: MemoryCatalog) -> dict[str, int]:
    """Rows of each table, all of them different."""
    found = {}
    for name in ROWS:
        rows = catalog.load_table(f"store.{name}").scan().to_arrow()["id"].to_pylist()
        assert len(set(rows)) == len(rows)
        found[name] = len(rows)
    return found


def slots(database: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    return database.execute("SELECT slot_name, restart_lsn::text FROM pg_replication_slots").fetchall()


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


@pytest.mark.parametrize(
    ("source", "sink", "told"),
    [
        ({"snapshot.mode": "initial"}, {}, "Write no_data"),
        ({"transforms": "x"}, {}, "transforms changes what records bring"),
        ({"time.precision.mode": "isostring"}, {}, "Write one of adaptive"),
        ({"value.converter.schemas.enable": "false"}, {}, "types of columns come from the schemas"),
        ({"table.include.list": "store.none"}, {}, "captures no table"),
        ({}, {"frazil.cdc.format": "none"}, "frazil.cdc.format=debezium is missing"),
        ({}, {"topics.regex": "other"}, "does not read the topic dbz.store.big"),
        ({}, {"consumer.override.auto.offset.reset": "latest"}, "would pass over changes"),
        ({"publication.autocreate.mode": "disabled"}, {}, "there is no publication store"),
    ],
)
def test_what_would_not_be_exact_is_refused_before_anything_is_written(
    database: psycopg.Connection[Any],
    snapshot: Snapshot,
    catalog: MemoryCatalog,
    source: dict[str, str],
    sink: dict[str, str],
    told: str,
) -> None:
    result = snapshot(source, sink)
    assert isinstance(result.exception, ConfigError)
    assert told in str(result.exception)
    assert not slots(database)
    assert not catalog.list_tables("store")


def test_a_connector_of_the_worker_whose_password_is_hidden_has_to_be_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Connectors({"shop": {"database.password": HIDDEN, "database.user": "ann"}})
    monkeypatch.setattr(Connectors, "known", lambda settings: known)
    refused = CliRunner().invoke(app, ["snapshot", "shop", "tables"])
    assert isinstance(refused.exception, UsageError)
    assert "the worker hides database.password of shop: give its file" in str(refused.exception)


def test_a_user_without_rights_is_told_what_is_missing(
    database: psycopg.Connection[Any], snapshot: Snapshot, catalog: MemoryCatalog
) -> None:
    database.execute("DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN PASSWORD 'guess-me'")
    user = {"database.user": "ann", "database.password": "guess-me"}
    for grant, told in (
        ("GRANT USAGE ON SCHEMA store TO ann", "GRANT CREATE ON DATABASE"),
        ("CREATE PUBLICATION store FOR TABLES IN SCHEMA store", "ALTER ROLE … REPLICATION"),
        ("ALTER ROLE ann REPLICATION", "GRANT SELECT on the tables"),
    ):
        database.execute(grant)
        refused = snapshot(user)
        assert isinstance(refused.exception, ConfigError)
        assert told in str(refused.exception)
    database.execute("GRANT SELECT ON ALL TABLES IN SCHEMA store TO ann")
    assert snapshot(user).exit_code == 0
    assert stored(catalog) == ROWS


def test_each_table_with_a_problem_is_named(
    database: psycopg.Connection[Any], snapshot: Snapshot, catalog: MemoryCatalog
) -> None:
    database.execute("ALTER TABLE store.big ADD place point")
    database.execute("CREATE TABLE store.keyless (id int)")
    database.execute("CREATE TABLE store.wide (id numeric(45, 5) PRIMARY KEY)")
    result = snapshot()
    assert isinstance(result.exception, ConfigError)
    for told in (
        "store.big: column place is of type point",
        "store.keyless: ",
        "store.wide: column id is numeric(45,5)",
    ):
        assert told in str(result.exception)
    assert not slots(database)
    assert not catalog.list_tables("store")


def test_rows_that_others_have_written_and_a_slot_that_is_gone(
    database: psycopg.Connection[Any], snapshot: Snapshot, catalog: MemoryCatalog
) -> None:
    assert snapshot({"table.include.list": "store.small"}).exit_code == 0
    other = snapshot({"table.include.list": "store.small", "topic.prefix": "dbz.2"}, name="other")
    assert isinstance(other.exception, ConfigError)
    assert "has 3 rows already" in str(other.exception)
    database.execute("SELECT pg_drop_replication_slot('store')")
    gone = snapshot()
    assert isinstance(gone.exception, ConfigError)
    assert "the replication slot store, from which store.small would go on, is gone" in str(gone.exception)


def test_a_value_that_no_column_has_is_named(
    database: psycopg.Connection[Any], snapshot: Snapshot, catalog: MemoryCatalog
) -> None:
    database.execute("ALTER TABLE store.small ADD day date")
    database.execute("UPDATE store.small SET day = 'infinity' WHERE id = 2")
    result = snapshot()
    assert isinstance(result.exception, ConfigError)
    assert "column day of store.small has a value that its table cannot hold: infinity is no date" in str(
        result.exception
    )
    assert stored(catalog) == ROWS | {"small": 0}
