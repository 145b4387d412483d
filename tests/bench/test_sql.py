"""What the figures of SQL compare."""

from __future__ import annotations

import pytest
from bench.avro import as_json, orders
from bench.sql import COLUMNS, SELECT_SOME, SOME, TOPIC

from frazil.connectors.sql.columns import parse_columns
from frazil.connectors.sql.statement import parse_statement
from frazil.pipeline.convert.decode import DecodeSpec, decoder


def test_the_columns_hold_every_order() -> None:
    columns = parse_columns(COLUMNS)
    found = decoder(DecodeSpec(columns, evolve=False)).decode([as_json(order) for order in orders(200)])
    assert found.rejected == []
    assert set(next(orders(1))) == {field.name for field in columns.fields}


@pytest.mark.parametrize("sql", ["SELECT * FROM {}", SELECT_SOME])
def test_the_statements_are_taken(sql: str) -> None:
    assert parse_statement(sql.format(f"`{TOPIC}`"), [TOPIC]).topics == (TOPIC,)
    assert [field.name for field in parse_columns(SOME).fields] == [
        "id",
        "customer",
        "total",
        "day",
        "city",
        "latitude",
    ]
