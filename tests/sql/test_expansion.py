"""A view in a statement, and what it hears of the rows that the statement asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from frazil.errors import QueryError
from frazil.sql.names import Names
from frazil.sql.show import show
from frazil.sql.statements import split
from frazil.sql.translate import Translation, translate
from frazil.sql.view import Bounds
from tests.sql.catalogs import LOG_TABLES, MetadataCatalog

CALLS = Schema(
    NestedField(1, "made", TimestamptzType()),
    NestedField(2, "api", StringType()),
    NestedField(3, "calls", LongType()),
)


@dataclass
class Calls:
    """Calls of one API each, which keeps the bounds that it was asked with."""

    schema: Schema = CALLS
    asked: list[Bounds] = field(default_factory=list)

    def statement(self, bounds: Bounds) -> str:
        self.asked.append(bounds)
        return "SELECT time AS made, name AS api, count(*) AS calls FROM apilogs GROUP BY time, name"


def names(view: Calls) -> Names:
    return Names(MetadataCatalog(LOG_TABLES), "w", "streaming", {"calls_of": view})


def translated(sql: str, view: Calls) -> Translation:
    [statement] = split(sql)
    return translate(statement, names(view))


def test_its_columns_take_the_place_of_a_star() -> None:
    found = translated("SELECT * FROM calls_of", view := Calls())
    assert found.columns == ("made", "api", "calls")
    assert [scan.source.table.name() for scan in found.scans] == [("streaming", "apilogs")]
    assert view.asked == [Bounds()]


def test_it_hears_of_texts_and_times_that_every_row_has() -> None:
    view = Calls()
    condition = "c.api = 'GetObject' AND calls = 3 AND other.x = '1' AND TIMESTAMP '2026-11-01 00:00:00 UTC' < made"
    translated(f"SELECT api FROM calls_of AS c, (SELECT '1' AS x) AS other WHERE {condition}", view)  # noqa: S608
    translated("SELECT api FROM calls_of WHERE api = 'GetObject' AND made = DATE '2026-11-01'", view)
    moment = datetime(2026, 11, 1, tzinfo=UTC)
    of_two, of_one = view.asked
    assert of_two == Bounds()  # the other relation may have any column
    assert of_one.texts == {"api": "GetObject"}
    assert of_one.since["made"] < moment < of_one.until["made"]


def test_without_it_the_name_is_unknown() -> None:
    [statement] = split("SELECT * FROM calls_of")
    with pytest.raises(QueryError, match="there is no table streaming.calls_of"):
        translate(statement, Names(MetadataCatalog(LOG_TABLES), "w", "streaming"))


def test_it_is_described() -> None:
    [statement] = split("DESCRIBE calls_of")
    described = show(statement, names(Calls()))
    assert [row[:2] for row in described.rows] == [
        ("made", "timestamp(6) with time zone"),
        ("api", "varchar"),
        ("calls", "bigint"),
    ]
