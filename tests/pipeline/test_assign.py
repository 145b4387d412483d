"""Routes of values that are columns, beside those of the same values one by one."""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from frazil.pipeline.assign import Routed, assign
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.route import Route, Router
from frazil.pipeline.types import Struct
from frazil.pipeline.values import Columns, Ints, Prepared, Values

ROWS = [
    {"kind": "db.a", "in": {"kind": "x"}, "n": 1},
    {"kind": "nothing", "in": {"kind": "x"}, "n": 2},
    {"kind": None, "in": {"kind": None}, "n": 3},
    {"kind": "db.a", "in": {"kind": "y"}, "n": 4},
    {"kind": "db.b", "in": {"kind": "y"}, "n": 5},
]
POSITIONS = [0, 2, 3, 5, 8]


def one_by_one(numbers: Ints) -> Prepared:
    values = [msgspec.json.encode(ROWS[number]) for number in numbers.tolist()]
    return Prepared(Values(values, [POSITIONS[number] for number in numbers.tolist()]))


def columns() -> Values:
    struct = pa.array(
        ROWS, pa.struct([("kind", pa.string()), ("in", pa.struct([("kind", pa.string())])), ("n", pa.int64())])
    )
    made = Columns(struct=struct, shape=Struct(()), at=np.array(POSITIONS), read=one_by_one)
    return Values([b'{"kind":"db.b"}', None], [1, 7], columns=[made])


def told(found: Routed) -> tuple[dict[str, list[int]], int, int, list[tuple[int, str]]]:
    tables = {name: sorted(part.positions()) for name, part in found.tables.items()}
    return tables, found.unrouted, found.tombstones, sorted((at, str(error)) for at, error in found.failed)


@pytest.mark.parametrize(
    ("route", "at_once"),
    [
        (Route(("kind",), dynamic=True), True),
        (Route(("kind",), (("db.one", "db[.]."), ("db.two", "db.b"))), True),
        (Route(("in", "kind"), (("db.one", "x"),)), True),
        (Route(("n",), (("db.one", "[34]"),)), False),
        (Route(("absent",), (("db.one", ".*"),)), False),
        (Route(("in", "kind", "deeper"), (("db.one", ".*"),)), False),
        (Route(topic_pattern="db.{topic}"), True),
        (Route(topic_pattern="{topic}"), True),
    ],
)
def test_columns_go_where_their_records_go(route: Route, at_once: bool) -> None:
    values = columns()
    found = assign(Router(route), "t", values)
    assert told(found) == told(assign(Router(route), "t", values.one_by_one().values))
    assert any(part.columns for part in found.tables.values()) or not at_once or found.failed


def test_values_that_fail_on_the_way_are_told() -> None:
    error = ConversionError("", "no")
    failing = Prepared(Values([], []), (), [(4, error)])
    made = Columns(struct=pa.array([{"n": 1}]), shape=Struct(()), at=np.array([4]), read=lambda _: failing)
    found = assign(Router(Route(("n",), (("db.t", ".*"),))), "t", Values([], [], columns=[made]))
    assert told(found) == ({}, 0, 0, [(4, "no")])
