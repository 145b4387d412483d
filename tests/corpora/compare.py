"""Equality of a value that was sent as JSON with what is read of a column or a field."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def differences(sent: Any, read: Any, path: str = "") -> list[str]:
    """The places below `path` where what is read is another value than what was sent.

    Null is as good as a field that is not there, and as a list or an object without a value. A column of text, where
    records have had values of different kinds, has their JSON.
    """
    if is_empty(sent) and (is_empty(read) or read == json.dumps(sent)):
        return []
    if isinstance(read, str) and not isinstance(sent, str):
        return [] if _parsed(read) == sent else [f"{path}: {sent!r} became {read!r}"]
    if isinstance(sent, dict):
        return _fields(sent, read, path)
    if isinstance(sent, list):
        return _elements(sent, read, path)
    return [] if _same(sent, read) else [f"{path}: {sent!r} became {read!r}"]


def is_empty(value: Any) -> bool:
    """Whether a value is null, an empty list, or an object that has nothing else."""
    return value is None or value == [] or (isinstance(value, dict) and all(map(is_empty, value.values())))


def _fields(sent: dict[str, Any], read: Any, path: str) -> list[str]:
    if isinstance(read, list):  # a map
        read = dict(read)
    if not isinstance(read, dict):
        return [f"{path}: {sent!r} became {read!r}"]
    return [
        difference
        for name in {**sent, **read}
        for difference in differences(sent.get(name), read.get(name), f"{path}.{name}")
    ]


def _elements(sent: list[Any], read: Any, path: str) -> list[str]:
    if not isinstance(read, list) or len(read) != len(sent):
        return [f"{path}: {sent!r} became {read!r}"]
    return [
        difference
        for number, (one, other) in enumerate(zip(sent, read, strict=True))
        for difference in differences(one, other, f"{path}[{number}]")
    ]


def _same(sent: Any, read: Any) -> bool:
    if isinstance(sent, bool) or isinstance(read, bool) or not isinstance(sent, int | float):
        return type(sent) is type(read) and bool(sent == read)
    return isinstance(read, int | float | Decimal) and Decimal(sent) == Decimal(read)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
