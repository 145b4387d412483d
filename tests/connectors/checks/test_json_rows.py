from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from frazil.connectors.checks.json_rows import holds


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"a": 1}, '{"a":1}'),
        ({"a": 1.0}, '{"a":1}'),
        ({"a": 0.1}, '{"a":0.1000000000000000055}'),
        ({"a": Decimal(2**64)}, '{"a":18446744073709551616}'),
        ({"a": "1"}, '{"a":1}'),
        ({"a": "2.50"}, '{"a":2.50}'),
        ({"a": '{"b":[true]}'}, '{"a":{"b":[true]}}'),
        ({"a": "x", "b": None}, '{"a":"x"}'),
        ({"a": "x"}, '{"a":"x","b":null,"c":{"d":[]}}'),
        ({"a": {"b": None, "c": 1}}, '{"a":{"c":1}}'),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        ({"value": '{"a":{}}'}, '{"a":{}}'),
    ],
)
def test_rows_that_hold_a_record(row: dict[str, Any], text: str) -> None:
    assert holds(row, text.encode())


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"a": 1}, '{"a":2}'),
        ({"a": 1}, '{"a":"1"}'),
        ({"a": 1}, '{"a":true}'),
        ({"a": True}, '{"a":1}'),
        ({"a": 1.5}, '{"a":1}'),
        ({"a": 2**53}, '{"a":9007199254740993}'),
        ({"a": "x"}, '{"a":1}'),
        ({"a": "x"}, '{"a":"x","b":0}'),
        ({"a": "x", "b": 0}, '{"a":"x"}'),
        ({"a": None}, '{"a":{"b":0}}'),
        ({"a": [1]}, '{"a":[1,2]}'),
        ({"a": {"b": 1}}, '{"a":[1]}'),
        ({"value": '{"a":{}}'}, '{"a":[]}'),
    ],
)
def test_rows_that_do_not(row: dict[str, Any], text: str) -> None:
    assert not holds(row, text.encode())
