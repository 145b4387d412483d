from __future__ import annotations

import pytest

from frazil.cli.ui.arguments import known_table
from frazil.errors import UsageError


def test_a_table_that_is_not_there_is_told_with_what_was_meant_and_where_it_lies() -> None:
    with pytest.raises(UsageError, match=r"no table order in shop; did you mean shop\.orders\?; known tables: orders"):
        known_table("shop.order", "streaming", lambda place: {"shop": ["orders"]}[place])
