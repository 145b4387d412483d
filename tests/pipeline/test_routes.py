from __future__ import annotations

import pytest

from frazil.pipeline.routes import table_name_problem


@pytest.mark.parametrize("name", ["db.t", "a.b.c", "streaming.api-logs_2", "db.naïve"])
def test_names_of_tables(name: str) -> None:
    assert table_name_problem(name) is None


@pytest.mark.parametrize(
    "name", ["", "t", ".t", "db.", "db..t", "db./etc", "db.t?x=1", "db.a b", "db.a\x1fb", "db.%2e", "db." + "x" * 300]
)
def test_what_cannot_be_the_name_of_a_table(name: str) -> None:
    """Records bring any text, and the name becomes part of the catalog's addresses."""
    assert table_name_problem(name)
