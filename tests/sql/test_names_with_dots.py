"""Columns and fields with a dot in their name, which is no way into a struct."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from frazil.sql.engine import Engine
from tests.connectors.iceberg.driver import CREATE, EVOLVE, Driver, memory


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with memory({}) as (broker, catalog):
        driver = Driver(broker, catalog, {**EVOLVE, **CREATE, "iceberg.tables": "db.x"})
        broker.send("t", [json.dumps({"id": 1, "a.b": 5, "s": {"b": 7, "c.d": 8}}).encode(), b'{"id": 2, "a.b": null}'])
        driver.drain()
        yield Engine(catalog, "warehouse", "db")


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT * FROM x", [(1, 5, {"b": 7, "c.d": 8}), (2, None, None)]),
        ('SELECT id, "a.b" FROM x', [(1, 5), (2, None)]),
        ('SELECT id FROM x WHERE "a.b" = 5', [(1,)]),
        ('SELECT id FROM x WHERE "a.b" IS NULL', [(2,)]),
        ('SELECT id, "a.b" FROM x WHERE id = 1 OR "a.b" IS NOT NULL', [(1, 5)]),
        ('SELECT s."c.d", s.b FROM x', [(8, 7), (None, None)]),
        ('SELECT id FROM x WHERE s."c.d" = 8', [(1,)]),
        ("SELECT id FROM x WHERE s.b = 7", [(1,)]),
    ],
)
def test_a_name_with_a_dot_is_that_of_its_column(engine: Engine, sql: str, rows: list[Any]) -> None:
    [answer] = engine.run(sql)
    assert answer.rows == rows
