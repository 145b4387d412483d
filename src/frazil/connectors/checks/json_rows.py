"""Comparison of the row of a file with a record of JSON without a schema, whatever columns the file has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

TEXT_COLUMN = "value"
"""The only column of files whose records have no member with a value."""


def holds(row: Mapping[str, Any], text: bytes) -> bool:
    """Whether a row has the values of a record, each as it is or, in a column of text, as its JSON.

    Members that are null, and objects and arrays without values, may have no column.
    """
    sent = json.loads(text, parse_float=Decimal)
    return _same(row, sent) or (row.keys() == {TEXT_COLUMN} and row[TEXT_COLUMN] == text.decode())


def _same(stored: Any, sent: Any) -> bool:
    if stored is None:
        return not _has_values(sent)
    if isinstance(stored, str):
        return stored == sent if isinstance(sent, str) else _is_text_of(stored, sent)
    if isinstance(stored, dict):
        return isinstance(sent, dict) and all(
            _same(stored.get(name), sent.get(name)) for name in stored.keys() | sent.keys()
        )
    if isinstance(stored, list):
        return isinstance(sent, list) and len(stored) == len(sent) and all(map(_same, stored, sent))
    if isinstance(stored, bool) or isinstance(sent, bool):
        return stored is sent
    return isinstance(sent, int | Decimal) and (float(sent) == stored if isinstance(stored, float) else sent == stored)


def _is_text_of(stored: str, sent: Any) -> bool:
    try:
        return bool(json.loads(stored, parse_float=Decimal) == sent)
    except ValueError:
        return False


def _has_values(sent: Any) -> bool:
    if isinstance(sent, dict):
        return any(map(_has_values, sent.values()))
    return any(map(_has_values, sent)) if isinstance(sent, list) else sent is not None
