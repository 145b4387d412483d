"""Tells the shapes of MinIO log records apart by their top-level keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Kind = Literal["api", "error", "audit", "legacy_audit", "server_log", "unknown"]

_OBJECT = ord("{")

# Fields of an audit record that an error record does not have.
_AUDIT_ONLY = frozenset({"requestID", "requestClaims", "sourceHost", "accessKey", "parentUser"})


def is_object(value: object) -> bool:
    """Whether a value, decoded or raw JSON without leading blanks, is a JSON object."""
    if isinstance(value, msgspec.Raw):
        text = memoryview(value)
        return len(text) > 0 and text[0] == _OBJECT
    return isinstance(value, Mapping)


def classify(record: Mapping[str, object]) -> Kind:
    """The shape of one record; values may be decoded or `msgspec.Raw`.

    The order of the tests matters: legacy audit records of 2020 have neither `event` nor `trigger`, and the audit
    test comes before the error test. An audit record without `category`, `details` and `metadata` is known by fields
    that error records lack; where it has none of them it is `unknown`, and only the topic can tell.
    """
    has_api = is_object(record.get("api"))
    if has_api and ("trigger" in record or "event" in record):
        return "legacy_audit"
    if "level" in record:
        return "server_log"
    if has_api:
        return "legacy_audit"
    if "callInfo" in record or ("type" in record and "name" in record):
        return "api"
    if "category" in record or "metadata" in record or "details" in record:
        return "audit"
    if "apiName" in record:
        return "error" if "message" in record and _AUDIT_ONLY.isdisjoint(record) else "audit"
    return "unknown"
