from __future__ import annotations

from frazil.sql.result import Result


def test_rows_are_counted() -> None:
    assert Result(("a",), [(1,), (2,)]).row_count == 2
    assert Result((), []).row_count == 0
