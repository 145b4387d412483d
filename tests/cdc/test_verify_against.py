"""The verb `verify --against`."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.cli.verbs.verify_database import access_of
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, ServiceUnavailable, UsageError
from tests.cdc.goods import fill, goods
from tests.cdc.stock import Snapshot
from tests.connectors.iceberg.memory import MemoryCatalog

SINK = {
    "name": "shop-tables",
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "dbz.public.goods",
    "iceberg.tables": "shop.goods",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://127.0.0.1:9",
    "frazil.cdc.format": "debezium",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
Verify = Callable[..., Result]


@pytest.fixture
def verify(tmp_path: Path, catalog: MemoryCatalog) -> Verify:
    """Runs the verb for a connector whose table has some rows, as it is given or had before."""

    def run(rows: list[dict[str, Any]] | None, address: str, *options: str, topics: str = SINK["topics"]) -> Result:
        (tmp_path / "sink.json").write_text(json.dumps(SINK | {"topics": topics}))
        if rows is not None:
            fill(catalog, rows)
        return CliRunner().invoke(
            app, ["verify", "--config", str(tmp_path / "sink.json"), "--against", address, *options]
        )

    return run


def rows_of(catalog: MemoryCatalog) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = catalog.load_table("shop.goods").scan().to_arrow().sort_by("id").to_pylist()
    return rows


def address_of(settings: Settings, password: str | None = None) -> str:
    access = settings.postgres_access()
    secret = quote(access["password"] if password is None else password, safe="")
    return f"postgres://{access['user']}:{secret}@{access['host']}:{access['port']}/{access['dbname']}"


@pytest.mark.stack
def test_equal_tables_end_with_0(verify: Verify, postgres: Settings) -> None:
    result = verify(goods(), address_of(postgres))
    assert (result.exit_code, result.exception) == (0, None)
    assert "Each row of the database is in its table once, as it is, and no other row." in result.stdout
    assert "shop.goods has no column extra; its values count as null" in result.stdout


@pytest.mark.stack
def test_keys_of_rows_that_differ_are_shown_and_it_ends_with_1(verify: Verify, postgres: Settings) -> None:
    rows = goods()
    rows[9]["price"] += Decimal("0.01")
    del rows[29]
    result = verify(rows, address_of(postgres))
    assert result.exit_code == 1
    assert "shop.goods: only in the database: id=30\n" in result.stdout
    assert "shop.goods: other: id=10\n" in result.stdout
    assert "Each row of the database" not in result.stdout


@pytest.mark.stack
def test_json_has_the_keys_too(verify: Verify, postgres: Settings) -> None:
    result = verify([*goods(), {"id": 9999, "name": "x", "price": None}], address_of(postgres), "-o", "json")
    assert result.exit_code == 1
    (body,) = json.loads(result.stdout)
    assert (body["equal"], body["rows"], body["stored"], body["surplus"]) == (False, 3000, 3001, [{"id": 9999}])


SURPLUS: list[dict[str, Any]] = [{"id": number, "name": "x", "price": None} for number in (8888, 9999, 9999)]


@pytest.mark.stack
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_surplus_rows_are_deleted_and_no_others(
    verify: Verify, postgres: Settings, catalog: MemoryCatalog, mode: str
) -> None:
    verify([*goods(), *SURPLUS], address_of(postgres))
    with catalog.load_table("shop.goods").transaction() as change:
        change.set_properties({"write.merge.mode": mode})
    result = verify(None, address_of(postgres), "--delete-surplus", "--yes")
    assert (result.exit_code, result.exception) == (0, None)
    assert "shop.goods: 3 rows deleted\n" in result.stdout
    assert rows_of(catalog) == goods()
    head = catalog.load_table("shop.goods").current_snapshot()
    again = verify(None, address_of(postgres), "--delete-surplus")
    assert (again.exit_code, catalog.load_table("shop.goods").current_snapshot()) == (0, head)


@pytest.mark.stack
def test_a_row_that_comes_back_before_the_commit_stays(
    verify: Verify, postgres: Settings, catalog: MemoryCatalog
) -> None:
    verify([*goods(), *SURPLUS], address_of(postgres))

    def come_back() -> None:
        """The row of the database, and another commit that brings it, so that this one is tried again."""
        with psycopg.connect(**postgres.postgres_access()) as connection:
            connection.execute("INSERT INTO goods VALUES (9999, 'back')")
        table = catalog.load_table("shop.goods")
        back = [{"id": 9999, "name": "back", "price": None}]
        table.overwrite(pa.Table.from_pylist(back, schema=table.schema().as_arrow()), "id = 9999")

    catalog.meanwhile = come_back
    try:
        told = verify(None, address_of(postgres), "--delete-surplus", "--yes", "-o", "json")
    finally:
        with psycopg.connect(**postgres.postgres_access()) as connection:
            connection.execute("DELETE FROM goods WHERE id = 9999")
    (body,) = json.loads(told.stdout)
    assert (told.exit_code, body["deleted"], body["surplus"]) == (1, 1, [{"id": 9999}])
    assert rows_of(catalog)[3000:] == [{"id": 9999, "name": "back", "price": None}]


@pytest.mark.stack
@pytest.mark.parametrize("fault", ["refused", "lost before", "lost after"])
def test_a_commit_that_ends_badly_deletes_once(
    verify: Verify, postgres: Settings, catalog: MemoryCatalog, fault: str
) -> None:
    verify([*goods(), *SURPLUS], address_of(postgres))
    catalog.faults.append(fault)
    told = verify(None, address_of(postgres), "--delete-surplus", "--yes", "-o", "json")
    (body,) = json.loads(told.stdout)
    assert (told.exit_code, body["equal"], body["deleted"]) == (0, True, 3)
    assert rows_of(catalog) == goods()


@pytest.mark.stack
def test_nothing_is_deleted_without_a_yes(verify: Verify, postgres: Settings, catalog: MemoryCatalog) -> None:
    refused = verify([*goods(), *SURPLUS], address_of(postgres), "--delete-surplus")
    assert "Delete 2 rows of shop.goods that the database does not have?" in str(refused.exception)
    assert len(rows_of(catalog)) == 3003


@pytest.mark.stack
def test_a_user_who_sees_some_of_the_rows_is_refused(
    verify: Verify, postgres: Settings, catalog: MemoryCatalog
) -> None:
    access = postgres.postgres_access()
    with psycopg.connect(**access, autocommit=True) as connection:
        connection.execute("CREATE ROLE clerk LOGIN PASSWORD 'some'; GRANT SELECT ON goods TO clerk")
        connection.execute("ALTER TABLE goods ENABLE ROW LEVEL SECURITY")
        try:
            told = verify(goods(), f"postgres://clerk:some@{access['host']}:{access['port']}", "--delete-surplus", "-y")
        finally:
            connection.execute("ALTER TABLE goods DISABLE ROW LEVEL SECURITY; REVOKE ALL ON goods FROM clerk")
            connection.execute("DROP ROLE clerk")
    assert isinstance(told.exception, ConfigError)
    assert "the database refused: query would be affected by row-level security policy" in str(told.exception)
    assert rows_of(catalog) == goods()


@pytest.mark.stack
def test_a_refused_login_is_told_without_the_password(verify: Verify, postgres: Settings) -> None:
    result = verify([], address_of(postgres, "guess me"))
    assert isinstance(result.exception, ServiceUnavailable)
    assert "guess" not in str(result.exception)


def test_deleting_needs_a_database(verify: Verify) -> None:
    told = CliRunner().invoke(app, ["verify", "--config", "sink.json", "--delete-surplus"])
    assert "--delete-surplus needs --against" in str(told.exception)


@pytest.mark.parametrize("options", [("--partition", "0"), ("--from", "1"), ("--to", "2")])
def test_options_for_topics_are_refused(verify: Verify, options: tuple[str, ...]) -> None:
    result = verify([], "postgres://", *options)
    assert isinstance(result.exception, UsageError)
    assert "are for topics, not for --against. Nothing was compared." in str(result.exception)


@pytest.mark.parametrize("address", ["mysql://h/d", "postgres://h:port/d", "postgres://h/d?sslmode=off", "h/d", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="expected postgres://USER:PASSWORD@HOST:PORT/NAME"):
        access_of(Settings({}), address)


def test_what_an_address_leaves_out_is_that_of_the_variables() -> None:
    settings = Settings(
        {"AWS_RDS_ENDPOINT": "db", "AWS_RDS_USER": "ann", "AWS_RDS_PASSWORD": "p", "AWS_RDS_DBNAME": "d"}
    )
    assert access_of(settings, "postgres://") == settings.postgres_access()
    found = access_of(settings, "postgresql://bob%40x:a%2Fb@other:6000/sales")
    assert (found["user"], found["password"], found["host"], found["port"], found["dbname"]) == (
        *("bob@x", "a/b", "other"),
        *(6000, "sales"),
    )


@pytest.mark.stack
@pytest.mark.parametrize("modes", [{}, {"time.precision.mode": "adaptive_time_microseconds"}])
def test_rows_of_a_snapshot_are_those_of_the_database(
    verify: Verify, postgres: Settings, database: psycopg.Connection[Any], snapshot: Snapshot, modes: dict[str, str]
) -> None:
    database.execute(
        "CREATE TABLE store.goods (id timestamp PRIMARY KEY, a time, b time(3), c timestamp(3), d interval, e jsonb, "
        "f json, g int GENERATED ALWAYS AS (7) STORED)"
    )
    database.execute(
        "INSERT INTO store.goods VALUES "
        "('1970-06-01', '0:00:30', '0:00:30', '1970-06-01', '1 mon -1 s', '\"5\"', 'null'), "
        "('2020-06-01', '12:00', '12:00', '1969-06-01', '1 y 2 d 0.5 s', '[1.0]', '\"é\"')"
    )
    taken = snapshot(modes | {"table.include.list": "store.goods"}, {"frazil.tables.topic-pattern": "shop.goods"})
    assert taken.exit_code == 0
    result = verify(None, address_of(postgres), topics="dbz.store.goods")
    assert (result.exit_code, result.exception) == (0, None)
    assert "no column" not in result.stdout
