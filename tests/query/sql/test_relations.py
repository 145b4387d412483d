from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.query.sql.relations import Column, Relation, Scope
from frazil.query.sql.types import BIGINT, VARCHAR

A = Column("a", VARCHAR, "r1.a", ("w", "s", "t"))
B = Column("A", BIGINT, "r2.a", ("u",))


def test_the_qualifier_may_be_cut_short_from_the_left() -> None:
    scope = Scope((A, B))
    for written in (["t", "a"], ["S", "T", "A"], ["w", "s", "t", "a"]):
        assert scope.resolve(written) == (A, [])
    assert scope.resolve(["u", "a", "x", "y"]) == (B, ["x", "y"])
    assert scope.resolve(["s", "a"]) is None


def test_a_name_of_two_tables_is_ambiguous() -> None:
    with pytest.raises(QueryError, match="column a is ambiguous"):
        Scope((A, B)).resolve(["a"])


def test_the_inner_query_comes_first() -> None:
    assert Scope((B,), Scope((A,))).resolve(["a"]) == (B, [])
    assert Scope((B,), Scope((A,))).resolve(["t", "a"]) == (A, [])


def test_aliases_replace_names() -> None:
    renamed = Relation("x", (A,)).renamed("Q", ["z"])
    assert Scope(renamed.columns).resolve(["q", "z"]) == (renamed.columns[0], [])
    with pytest.raises(QueryError, match="2 column aliases for 1 columns"):
        Relation("x", (A,)).renamed("q", ["y", "z"])
