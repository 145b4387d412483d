from __future__ import annotations

import json

import msgspec
import pytest

from frazil.logs.kinds import Kind, classify

# Each shape with the keys that tell it, and the exceptions.
CASES: list[tuple[str, Kind, dict[str, object]]] = [
    ("legacy audit", "legacy_audit", {"api": {"name": "PutObject"}, "trigger": "incoming", "event": ""}),
    ("legacy audit with event only", "legacy_audit", {"api": {}, "event": "x"}),
    ("legacy audit of 2020", "legacy_audit", {"version": "1", "time": "t", "api": {"name": "PutObject"}}),
    ("server log", "server_log", {"level": "ERROR", "api": {"name": "SYSTEM.iam"}, "error": {"message": "m"}}),
    ("server log without api", "server_log", {"level": "INFO", "message": "m"}),
    ("api", "api", {"type": "object", "name": "s3.GetObject", "callInfo": {"rx": 1}}),
    ("internal api", "api", {"type": "object", "name": "s3.GetObject"}),
    ("api with only a call", "api", {"time": "t", "callInfo": {}}),
    ("audit with details as text", "audit", {"category": "user", "action": "create", "details": "{}"}),
    ("audit with message", "audit", {"apiName": "a", "message": "m", "metadata": {"diff": {}}}),
    ("audit without category", "audit", {"time": "t", "apiName": "admin.X", "requestID": "1"}),
    ("audit with message and caller", "audit", {"apiName": "a", "message": "m", "accessKey": "k"}),
    ("error", "error", {"version": "1", "node": "n", "time": "t", "message": "", "apiName": ""}),
    ("api field that is no object", "unknown", {"api": "v1", "event": "x"}),
    ("nothing known", "unknown", {"time": "t", "node": "n"}),
    ("empty", "unknown", {}),
]


@pytest.mark.parametrize(("kind", "record"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_classify(kind: Kind, record: dict[str, object]) -> None:
    assert classify(record) == kind
    raw = msgspec.json.decode(json.dumps(record, indent=1).encode(), type=dict[str, msgspec.Raw])
    assert classify(raw) == kind
