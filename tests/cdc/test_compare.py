"""A table compared with a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import BinaryType, BooleanType, IntegerType, LongType, NestedField, StringType

from frazil.cdc.compare import Database, compare, tables_of
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, NotFound, ServiceUnavailable
from tests.cdc.goods import catalog_with, goods
from tests.isolation import quiet


@pytest.fixture
def database(postgres: Settings) -> Iterator[Database]:
    made = Database(postgres.postgres_access())
    yield made
    made.close()


def table_of(folder: Path, rows: list[dict[str, Any]]) -> Any:
    return catalog_with(folder, rows).load_table("shop.goods")


@pytest.mark.stack
def test_of_versions_the_current_ones_count(database: Database, tmp_path: Path) -> None:
    table = table_of(tmp_path, goods())
    with table.update_schema() as update:
        update.add_column("_current", BooleanType())
    rows = [{**row, "_current": True} for row in goods()] + [
        {**row, "name": "old", "_current": False} for row in goods()
    ]
    table.overwrite(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    found = compare(database, "public", "goods", table, quiet, versions=True)
    assert (found.equal, found.stored) == (True, 3000)
    assert not compare(database, "public", "goods", table, quiet).equal


@pytest.mark.stack
def test_equal_tables_in_any_order_and_a_column_that_nothing_is_in(database: Database, tmp_path: Path) -> None:
    found = compare(database, "public", "goods", table_of(tmp_path, goods()[::-1]), quiet)
    assert found.equal
    assert (found.rows, found.stored, found.absent) == (3000, 3000, ["extra"])


@pytest.mark.stack
def test_rows_that_differ_are_named_by_their_keys(database: Database, tmp_path: Path) -> None:
    rows = goods()
    rows[9]["name"] = "other"
    rows[19]["price"] += Decimal("0.01")
    del rows[29]
    rows += [{"id": 9999, "name": "x", "price": None}, dict(rows[0])]
    found = compare(database, "public", "goods", table_of(tmp_path, rows), quiet)
    assert not found.equal
    assert (found.missing, found.surplus) == ([{"id": 30}], [{"id": 9999}])
    assert found.other == [{"id": 10}, {"id": 20}]
    assert found.doubled == 1


@pytest.mark.stack
@pytest.mark.parametrize("output", ["hex", "escape"])
def test_values_that_python_has_no_time_for(
    database: Database, postgres: Settings, tmp_path: Path, output: str
) -> None:
    access = postgres.postgres_access()
    with psycopg.connect(**access, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {access['dbname']} SET bytea_output = '{output}'")
        connection.execute('DROP TABLE IF EXISTS "far.off"')
        connection.execute(
            'CREATE TABLE "far.off" (id int PRIMARY KEY, at timestamp, tz timestamptz, day date, clock time, raw bytea)'
        )
        connection.execute(
            """INSERT INTO "far.off" VALUES (1, 'infinity', '-infinity', '10000-01-01', '24:00', '\\xfb00ff5c'),
            (2, '0044-03-15 12:00:00.5 BC', '2026-11-29 14:00:00.123456+02', '-infinity', '00:02:00', '')"""
        )
    schema = Schema(
        NestedField(1, "id", IntegerType(), required=False),
        *(NestedField(number, name, LongType(), required=False) for number, name in ((2, "at"), (3, "clock"))),
        *(NestedField(number, name, StringType(), required=False) for number, name in ((4, "tz"), (5, "day"))),
        NestedField(6, "raw", BinaryType(), required=False),
    )
    rows = [
        {"id": 1, "at": 9_223_372_036_825_200_000, "tz": "-infinity", "day": "10000-01-01", "clock": 86_400_000_000,
         "raw": b"\xfb\x00\xff\\"},
        {"id": 2, "at": -63_517_780_799_500_000, "tz": "2026-11-29T12:00:00.123456Z", "day": "-infinity",
         "clock": 120_000_000, "raw": b""},
    ]  # fmt: skip
    catalog = catalog_with(tmp_path, [])
    table = catalog.create_table("shop.far", schema=schema)
    table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    with closing(Database(access)) as anew:
        assert anew.has("public", "far.off") and not anew.has("far", "off")
        found = compare(anew, "public", "far.off", table, quiet)
    assert (found.other, found.missing, found.surplus, found.rows) == ([], [], [], 2)


@pytest.mark.stack
@pytest.mark.parametrize("texts", [["fb00ff5c", "", None], ["+wD/XA==", "", None]], ids=["hex", "base64"])
def test_bytes_that_are_text(database: Database, postgres: Settings, tmp_path: Path, texts: list[str | None]) -> None:
    with psycopg.connect(**postgres.postgres_access(), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS coded")
        connection.execute("CREATE TABLE coded (id int PRIMARY KEY, raw bytea)")
        connection.execute("INSERT INTO coded VALUES (0, '\\xfb00ff5c'), (1, ''), (2, NULL)")
    schema = Schema(
        NestedField(1, "id", IntegerType(), required=False), NestedField(2, "raw", StringType(), required=False)
    )
    table = catalog_with(tmp_path, []).create_table("shop.coded", schema=schema)
    rows = [{"id": number, "raw": text} for number, text in enumerate(texts)]
    table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    with closing(Database(postgres.postgres_access())) as anew:
        assert compare(anew, "public", "coded", table, quiet).equal
    table.append(pa.Table.from_pylist([{"id": 3, "raw": texts[0]}], schema=table.schema().as_arrow()))
    with closing(Database(postgres.postgres_access())) as anew:
        assert compare(anew, "public", "coded", table, quiet).surplus == [{"id": 3}]


@pytest.mark.stack
def test_what_cannot_be_compared(database: Database, postgres: Settings, tmp_path: Path) -> None:
    table = table_of(tmp_path, [])
    with pytest.raises(NotFound, match=r"the database has no table public\.nope"):
        compare(database, "public", "nope", table, quiet)
    with pytest.raises(ConfigError, match="public.keyless has no primary key"):
        compare(database, "public", "keyless", table, quiet)
    with pytest.raises(ServiceUnavailable, match="does not let us in: .*password authentication failed") as refused:
        Database({**postgres.postgres_access(), "password": "guess-me"})
    assert "guess-me" not in str(refused.value)


@pytest.mark.parametrize(
    ("topics", "names", "expected"),
    [
        (["dbz.public.users"], ["streaming.people"], {"streaming.people": ("public", "users")}),
        (["s.public.a", "s.sales.b"], ["shop.b", "shop.a"], {"shop.a": ("public", "a"), "shop.b": ("sales", "b")}),
        (["s.public.a", "s.sales.a"], ["shop.a", "shop.c"], {}),
        (["events"], ["streaming.events"], {}),
    ],
)
def test_tables_are_found_by_the_names_of_topics(
    topics: list[str], names: list[str], expected: dict[str, tuple[str, str]]
) -> None:
    assert {name: sources[0] for name, sources in tables_of(topics, names).items()} == expected


def test_a_topic_may_be_of_a_table_with_dots_in_its_name() -> None:
    assert tables_of(["shop.public.far.off"], ["db.t"]) == {"db.t": [("far", "off"), ("public", "far.off")]}
