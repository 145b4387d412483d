"""The verb `snapshot` where rows would not be exactly what changes make of them: nothing is written."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.cli.ui.letter_connectors import Connectors
from frazil.declare.definition import HIDDEN
from frazil.errors import ConfigError, ServiceUnavailable, UsageError
from tests.cdc.stock import ROWS, Snapshot, slots, stored
from tests.connectors.iceberg.memory import MemoryCatalog

pytestmark = pytest.mark.stack


@pytest.mark.parametrize(
    ("source", "sink", "told"),
    [
        ({"snapshot.mode": "initial"}, {}, "Write no_data"),
        ({"transforms": "x"}, {}, "transforms changes what records bring"),
        ({"time.precision.mode": "isostring"}, {}, "Write one of adaptive"),
        ({"value.converter.schemas.enable": "false"}, {}, "types of columns come from the schemas"),
        ({"value.converter.replace.null.with.default": "true"}, {}, "nulls are taken as nulls here"),
        ({}, {"value.converter.replace.null.with.default": "true"}, "default values of nulls"),
        ({"table.include.list": "store.none"}, {}, "captures no table"),
        ({}, {"frazil.cdc.format": "none"}, "frazil.cdc.format=debezium is missing"),
        ({}, {"frazil.cdc.mode": "history"}, "frazil.cdc.mode=append or history, whose rows are changes"),
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
    monkeypatch.setattr(Connectors, "known", lambda settings, names: known)
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


def test_an_array_of_several_dimensions_is_told(
    database: psycopg.Connection[Any], snapshot: Snapshot, catalog: MemoryCatalog
) -> None:
    database.execute("ALTER TABLE store.small ADD n int[], ADD t varchar(5)[], ADD u uuid[]")
    database.execute("UPDATE store.small SET n = '[0:1]={1,null}', t = '{a,null}', u = '{}' WHERE id = 1")
    database.execute("UPDATE store.small SET n = '{{1,2},{3,4}}' WHERE id = 2")
    result = snapshot()
    assert isinstance(result.exception, ServiceUnavailable)
    assert "{{1,2},{3,4}} has several dimensions" in str(result.exception)
    database.execute("UPDATE store.small SET n = NULL WHERE id = 2")
    assert snapshot().exit_code == 0
    rows = catalog.load_table("store.small").scan().to_arrow().sort_by("id").to_pylist()
    assert (rows[0]["n"], rows[0]["t"], rows[1]["n"]) == ([1, None], ["a", None], None)
