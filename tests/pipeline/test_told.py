from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from frazil.pipeline.rows import Rows
from frazil.pipeline.told import untold
from frazil.pipeline.transforms.keys import KeyConverter
from frazil.pipeline.values import Values

JSON = KeyConverter("org.apache.kafka.connect.json.JsonConverter")


def reasons(*records: tuple[Any, dict[str, Any]], in_order: bool = True) -> dict[int, str]:
    """Reasons for a table whose rows are found by `code`, by position."""
    keys = [None if key is None else json.dumps(key).encode() for key, _ in records]
    values = [json.dumps(value, separators=(",", ":")).encode() for _, value in records]
    numbers = np.arange(len(records))
    rows = Rows("t", 0, numbers, numbers, values, keys)
    found = untold(rows, Values(values), {"code"}, JSON, in_order=in_order)
    return {position: error.reason for position, error in found}


def value(op: str, row: dict[str, Any], **notes: Any) -> dict[str, Any]:
    return {**row, "_cdc": {"op": op, **notes}}


HIDDEN = value("U", {"id": 1, "Code": "a"}, untold=["Code"])


def test_an_event_that_hides_a_column_of_the_key_is_found_once_the_key_is_known() -> None:
    assert reasons((None, HIDDEN)) == {}
    assert reasons(({"Code": "a"}, HIDDEN)) == {}
    found = reasons((None, value("T", {})), ({"id": 1}, HIDDEN), ({"id": 2}, value("U", {"id": 2, "Code": "b"})))
    assert list(found) == [1]
    assert found[1].startswith("rows are found by Code, which the record's key does not have")


@pytest.mark.parametrize(("more", "told"), [({"n": 0, "s": "", "x": None}, False), ({"n": 1}, True)])
def test_a_delete_tells_its_row_when_it_has_more_than_what_is_filled_in(more: dict[str, Any], told: bool) -> None:
    assert (reasons(({"id": 1}, value("D", {"id": 1, "Code": "", **more}, untold=["Code"]))) == {}) is told


def test_a_record_s_key_that_changes_is_in_order_in_one_partition_alone() -> None:
    moved = ({"id": 1, "code": "a"}, value("U", {"code": "a"}, moved=["code"]))
    named = (None, value("U", {"code": "a"}, moved=["code"], **{"key.fields": ["code"]}))
    other = (None, value("U", {"code": "a"}, moved=["code"], **{"key.fields": ["id"]}))
    assert reasons(moved, named) == {}
    assert list(reasons(moved, named, other, in_order=False)) == [0, 1]
