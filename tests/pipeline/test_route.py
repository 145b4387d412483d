from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline import route as route_module
from frazil.pipeline.route import Assigned, Route, Router, table_name_problem


def assign(route: Route, *values: Any, topics: list[str] | None = None) -> Assigned:
    found = [value if value is None or isinstance(value, bytes) else json.dumps(value).encode() for value in values]
    return Router(route).assign(found, lambda: topics or [])


def static(path: str, **regexes: str) -> Route:
    return Route(tuple(path.split(".")), tuple((f"db.{table}", regex) for table, regex in regexes.items()))


def dynamic(path: str) -> Route:
    return Route(tuple(path.split(".")), dynamic=True)


def test_a_record_goes_where_the_expression_matches() -> None:
    found = assign(static("fld", t="val"), {"fld": "val"}, {"fld": "foobar"}, {}, {"fld": None})
    assert found == Assigned({"db.t": [0]}, unrouted=[1, 2, 3])


def test_the_expression_must_match_the_whole_value() -> None:
    found = assign(static("fld", t="type"), {"fld": "type1"}, {"fld": "atype"}, {"fld": "type\n"}, {"fld": "type"})
    assert found == Assigned({"db.t": [3]}, unrouted=[0, 1, 2])


def test_several_tables() -> None:
    route = static("type", one="type1", two="type2", both="type[12]")
    found = assign(route, {"type": "type1"}, {"type": "type2"}, {"type": "type3"})
    assert found == Assigned({"db.one": [0], "db.two": [1], "db.both": [0, 1]}, unrouted=[2])


def test_names_are_in_lower_case() -> None:
    assert assign(dynamic("fld"), {"fld": "DB.Tbl"}).tables == {"db.tbl": [0]}


@pytest.mark.parametrize(
    ("value", "text"),
    [("123", "123"), ('"123"', "123"), ("1.50", "1.50"), ("true", "true"), ('{"a": 1}', '{"a": 1}'), ("[1]", "[1]")],
)
def test_values_of_any_kind_at_any_depth(value: str, text: str) -> None:
    route = Route(("data", "id", "key"), (("db.t", re.escape(text)),))
    record = f'{{"x":[1],"data":{{"id":{{"no":1,"key":{value}}}}}}}'.encode()
    assert assign(route, record).tables == {"db.t": [0]}


@pytest.mark.parametrize("path", ["xkey", "", "key.", ".key", "null.key"])
def test_a_value_that_is_not_there(path: str) -> None:
    found = assign(static(path, t=".*"), {"null": None})
    assert (found.unrouted, found.failed) == ([0], [])


@pytest.mark.parametrize(
    ("record", "path", "reason"),
    [
        ({"a": 5}, "a", "Expected a map type, got number: the route field is a.b"),
        ({"a": [{"b": "x"}]}, "a", "Expected a map type, got array: the route field is a.b"),
        ([1], "", "the value is not an object but array"),
        (b'{"a":', "", "the value is not JSON"),
        (b'{"a":{"b":"\xff"}}', "a.b", "the text is not valid"),
        (b'{"a":5,"\xff":1}', "", "the value is not UTF-8 (byte 8)"),
    ],
)
def test_records_without_a_way_to_the_value_are_bad(record: Any, path: str, reason: str) -> None:
    found = assign(static("a.b", t="x"), {"a": {"b": "x"}}, record, {"a": {"b": "x"}})
    assert (found.tables, found.unrouted) == ({"db.t": [0, 2]}, [])
    ((index, error),) = found.failed
    assert (index, error.path) == (1, path)
    assert error.reason.startswith(reason)


def test_tombstones() -> None:
    found = assign(dynamic("a"), None, b"null", b" null\n")
    assert found == Assigned(tombstones=[0, 1, 2])


@pytest.mark.parametrize("name", ["t", "db.", "db.a/../b", "db.a b", "", 5])
def test_a_value_that_is_no_name_of_a_table_makes_a_bad_record(name: Any) -> None:
    ((_, error),) = assign(dynamic("a"), {"a": name}).failed
    assert error.path == "a"
    assert "is not the name of a table" in error.reason


def test_tables_named_after_topics() -> None:
    topics = ["Orders", "orders", "x/y", "s.items"]
    found = assign(Route(topic_pattern="db.{topic}"), b"not looked at", None, {}, {}, topics=topics)
    assert found.tables == {"db.orders": [0, 1], "db.s.items": [3]}
    assert [index for index, _ in found.failed] == [2]


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers() | st.none(), max_size=4), st.text())
def test_names_of_fields_may_be_any_text(record: dict[str, Any], name: str) -> None:
    found = assign(Route((name,), (("db.t", r"(?s).*"),)), record)
    expected = record.get(name) is not None
    assert (found.tables, found.unrouted) == (({"db.t": [0]}, []) if expected else ({}, [0]))


def test_more_values_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route_module, "_CACHED", 10)
    values = [{"n": n % 50} for n in range(500)]
    assert assign(static("n", t="[0-9]*[05]"), *values).tables["db.t"] == [n for n in range(500) if n % 5 == 0]


@pytest.mark.parametrize("name", ["db.t", "a.b.c", "streaming.api-logs_2", "db.naïve"])
def test_names_of_tables(name: str) -> None:
    assert table_name_problem(name) is None


@pytest.mark.parametrize(
    "name", ["", "t", ".t", "db.", "db..t", "db./etc", "db.t?x=1", "db.a b", "db.a\x1fb", "db.%2e", "db." + "x" * 300]
)
def test_what_cannot_be_the_name_of_a_table(name: str) -> None:
    """Records bring any text, and the name becomes part of the catalog's addresses."""
    assert table_name_problem(name)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("shop.a", True), ("Shop.A", True), ("shop.a.b", True), ("xshop.a", False), ("shopx.a", False), ("demo.o", True)],
)
def test_records_name_tables_whose_whole_name_is_allowed(name: str, allowed: bool) -> None:
    by_field = Route(("k",), dynamic=True, allowed=r"shop\..*|demo\.o")
    by_topic = Route(topic_pattern="{topic}", allowed=by_field.allowed)
    value = b'{"k":"%s"}' % name.encode()
    for route in (by_field, by_topic):
        found = Router(route).assign([value], lambda: [name])
        assert (found.tables == {name.lower(): [0]}) is allowed
        assert ([str(error) for _, error in found.failed] == []) is allowed
