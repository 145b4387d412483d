"""A table compared with a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import BooleanType

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
    assert tables_of(topics, names) == expected
