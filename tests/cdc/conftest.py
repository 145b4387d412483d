"""A PostgreSQL of the tests, with a table of goods, and the verb `snapshot` with a catalog in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.clients import catalog as catalogs
from frazil.environment.settings import Settings
from frazil.stack.local import LocalStack
from frazil.stack.postgres import postgres_service
from tests.cdc.stock import JSON, ROWS, SINK, Snapshot
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.isolation import isolated_settings


@pytest.fixture(scope="package")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    settings = isolated_settings(tmp_path_factory.mktemp("postgres"))
    service = postgres_service(settings)
    service.start(lambda text: None)
    with psycopg.connect(**settings.postgres_access()) as connection:
        connection.execute("CREATE TABLE goods (id int PRIMARY KEY, name text, price numeric(10,2), extra text)")
        connection.execute("INSERT INTO goods SELECT g, 'n' || g, g / 4.0 FROM generate_series(1, 3000) g")
        connection.execute("CREATE TABLE keyless (id int)")
    yield settings
    service.stop()
    LocalStack(settings).clean()


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
