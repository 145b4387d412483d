from __future__ import annotations

import pytest

from frazil.declare.definition import Value
from frazil.declare.validators import (
    all_of,
    at_least,
    at_most,
    java_regular_expression,
    non_empty_without_control_chars,
    one_of,
    table_names,
    unique_aliases,
)


def test_at_least() -> None:
    check = at_least(1)
    assert (check(1), check(0), check(None)) == (None, "Value must be at least 1", "Value must be non-null")


def test_at_most() -> None:
    check = at_most(9)
    assert (check(9), check(10)) == (None, "Value must be no more than 9")


def test_one_of_keeps_the_case() -> None:
    check = one_of("none", "all")
    assert check("all") is None
    assert check("ALL") == "String must be one of: none, all"


@pytest.mark.parametrize("name", ["a", "näme", "a b", "%", "a/b", "x" * 300])
def test_names_may_have_any_printable_text(name: str) -> None:
    assert non_empty_without_control_chars(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "String may not be empty"),
        ("n" * 1025, "String may not have more than 1,024 characters"),
        ("a\x07", "String may not contain control sequences but had the following ASCII chars: 7"),
        ("a\nb\x9f", "String may not contain control sequences but had the following ASCII chars: 10, 159"),
    ],
)
def test_names_may_not_be_empty_or_have_control_characters(name: str, reason: str) -> None:
    assert non_empty_without_control_chars(name) == reason


def test_aliases_are_unique() -> None:
    assert unique_aliases(("a", "b")) is None
    assert unique_aliases(("a", "b", "a")) == "Duplicate alias provided."


def test_a_regular_expression_compiles() -> None:
    assert java_regular_expression("logs-.*") is None
    assert java_regular_expression("") is None
    reason = java_regular_expression("ab[")
    assert reason is not None
    assert reason.startswith("Invalid regex: ")
    assert reason.endswith(" near index 2\nab[\n  ^")


@pytest.mark.parametrize(("names", "valid"), [(("a.b", "a.b.c"), True), (("b",), False), ((".b",), False), ((), True)])
def test_tables_have_a_namespace(names: Value, valid: bool) -> None:
    assert (table_names(names) is None) is valid


def test_all_of_gives_the_first_reason() -> None:
    check = all_of(unique_aliases, table_names)
    assert check(("a", "a")) == "Duplicate alias provided."
    assert (check(("a",)) or "").startswith("Table names are written namespace.table")
    assert check(("a.b",)) is None
