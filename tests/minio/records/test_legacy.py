from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.minio.records.kinds import TableKind
from frazil.minio.records.legacy import Kind, RawObject, classify, map_record
from frazil.minio.records.tables import API_SCHEMA, AUDIT_SCHEMA, ERROR_SCHEMA

# An audit record of a community server, with a time, numbers and blanks whose source text must survive.
AUDIT_ENTRY = b"""{"version":"1","deploymentid":"d-1","time":"2024-05-09T07:38:10.449688982Z","event":"",
 "trigger":"incoming","api":{"name":"PutObject","bucket":"testbucket","object":"hosts","status":"OK","statusCode":200,"rx":401,"tx":-1,
  "objects":[{"objectName":"a"}],"timeToResponse":"13309747ns","timeToResponseInNS":"13309747"},
 "remotehost":"127.0.0.1","requestID":"17CDC1F4D7E69123","userAgent":"MinIO","requestPath":"/testbucket/hosts",
 "requestHost":"localhost:9000","requestNode":"node-1","requestClaims":{"exp":1.50e9},
 "requestHeader":{"Authorization":"AWS4","Content-Length":"401"},"responseHeader":{"ETag":"9f"},
 "tags":{"event":"own","objectLocation":{"poolId": 1.0,"drives":["/mnt/data1"]},"n":1e2,"none":null},
 "accessKey":"EXAMPLE","error":"denied"}"""
ENTRY_2020 = b"""{"version":"1","time":"2020-05-06T01:02:03Z",
 "api":{"name":"AssumeRoleWithWebIdentity","timeToResponse":"207.1ms"}}"""
SERVER_LOG = b"""{"deploymentid":"d-1","level":"WARNING","errKind":"ALL","time":"2025-08-15T16:06:01.16308316Z",
 "api":{"name":"SYSTEM.iam","args":{"bucket":"b", "metadata":{"k":1}}},"requestNode":"node-2","host":"h",
 "error":{"message":"boom (*errors.errorString)","source":["a.go:1","b.go:2"],"variables":{"n":3},"code":7}}"""


def raw(text: bytes) -> RawObject:
    return msgspec.json.decode(text, type=RawObject)


def mapped(kind: TableKind, text: bytes) -> dict[str, Any]:
    row = map_record(kind, raw(text))
    assert row is not None
    return {column: json.loads(bytes(value)) for column, value in row.items()}


def test_legacy_audit_becomes_an_api_row() -> None:
    assert mapped("api", AUDIT_ENTRY) == {
        "version": "1",
        "time": "2024-05-09T07:38:10.449688982Z",
        "node": "node-1",
        "origin": "client",
        "name": "PutObject",
        "bucket": "testbucket",
        "object": "hosts",
        "callInfo": {
            "httpStatusCode": 200,
            "rx": 401,
            "tx": None,
            "timeToResponse": "13309747ns",
            "sourceHost": "127.0.0.1",
            "requestID": "17CDC1F4D7E69123",
            "userAgent": "MinIO",
            "requestPath": "/testbucket/hosts",
            "requestHost": "localhost:9000",
            "requestClaims": {"exp": 1.5e9},
            "requestHeader": {"Authorization": "AWS4", "Content-Length": "401"},
            "responseHeader": {"ETag": "9f"},
            "accessKey": "EXAMPLE",
        },
        "tags": {
            "deploymentid": "d-1",
            "event": "",
            "trigger": "incoming",
            "error": "denied",
            "api.status": "OK",
            "api.objects": '[{"objectName":"a"}]',
            "api.timeToResponseInNS": "13309747",
            "tags.event": "own",
            "objectLocation": '{"poolId": 1.0,"drives":["/mnt/data1"]}',
            "n": "1e2",
            "none": None,
        },
    }


def test_numbers_keep_their_source_text() -> None:
    row = map_record("api", raw(AUDIT_ENTRY))
    assert row is not None
    assert b'"exp":1.50e9' in bytes(row["callInfo"])


def test_legacy_audit_becomes_an_audit_row() -> None:
    row = mapped("audit", AUDIT_ENTRY)
    call = raw(AUDIT_ENTRY)["api"]
    assert row.pop("details") == bytes(call).decode()
    tags = row.pop("tags")
    assert tags["requestHeader"] == '{"Authorization":"AWS4","Content-Length":"401"}'
    assert tags["tags.event"] == "own"
    assert row == {
        "version": "1",
        "time": "2024-05-09T07:38:10.449688982Z",
        "node": "node-1",
        "apiName": "PutObject",
        "bucket": "testbucket",
        "sourceHost": "127.0.0.1",
        "requestID": "17CDC1F4D7E69123",
        "requestClaims": {"exp": 1.5e9},
        "accessKey": "EXAMPLE",
    }


@pytest.mark.parametrize(
    ("trigger", "origin"), [('"incoming"', "client"), ('"scanner"', "internal"), ('""', "internal")]
)
def test_origin(trigger: str, origin: str) -> None:
    assert mapped("api", b'{"time":"t","api":{},"trigger":%s}' % trigger.encode())["origin"] == origin


def test_records_of_2020_have_no_origin() -> None:
    assert mapped("api", ENTRY_2020) == {
        "version": "1",
        "time": "2020-05-06T01:02:03Z",
        "name": "AssumeRoleWithWebIdentity",
        "callInfo": {"timeToResponse": "207.1ms"},
    }


def test_server_log_becomes_an_error_row() -> None:
    assert mapped("error", SERVER_LOG) == {
        "time": "2025-08-15T16:06:01.16308316Z",
        "node": "node-2",
        "message": "boom (*errors.errorString)",
        "apiName": "SYSTEM.iam",
        "trace": {"source": ["a.go:1", "b.go:2"], "variables": {"n": 3}},
        "tags": {
            "deploymentid": "d-1",
            "level": "WARNING",
            "errKind": "ALL",
            "host": "h",
            "api.args": '{"bucket":"b", "metadata":{"k":1}}',
            "error.code": "7",
        },
    }


@pytest.mark.parametrize(
    ("fields", "message", "tags"),
    [
        ('"message":"plain"', "plain", {"level": "INFO"}),
        ('"message":"plain","error":{"message":"traced"}', "traced", {"level": "INFO", "message": "plain"}),
        ('"error":"text"', "text", {"level": "INFO"}),
        ('"message":"plain","error":"text"', "plain", {"level": "INFO", "error": "text"}),
    ],
)
def test_text_of_a_server_log(fields: str, message: str, tags: dict[str, str]) -> None:
    row = mapped("error", f'{{"time":"t","level":"INFO",{fields}}}'.encode())
    assert (row["message"], row["tags"]) == (message, tags)


def test_a_nested_field_does_not_displace_a_field_of_the_same_name() -> None:
    tags = mapped("api", b'{"time":"t","trigger":"x","api.status":"outer","api":{"status":"inner"}}')["tags"]
    assert tags == {"trigger": "x", "api.status": "outer", "api.api.status": "inner"}


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        ("api", b'{"type":"object","name":"s3.GetObject"}'),
        ("audit", b'{"category":"user","details":{"user":{}}}'),
        ("audit", b'{"apiName":"admin.X"}'),
        ("error", b'{"message":"m","apiName":"a"}'),
        ("error", b'{"message":"m","apiName":"a","metadata":{"added":"later"}}'),
        ("api", b"{}"),
        ("audit", b'{"time":"t"}'),
    ],
)
def test_ordinary_records_need_no_mapping(kind: TableKind, record: bytes) -> None:
    assert map_record(kind, raw(record)) is None


@pytest.mark.parametrize(
    ("kind", "record", "reason"),
    [
        ("api", SERVER_LOG, "a server log record cannot be stored in a table with the columns of `apilogs`"),
        ("audit", SERVER_LOG, "a server log record cannot be stored in a table with the columns of `auditlogs`"),
        ("error", AUDIT_ENTRY, "a legacy audit record cannot be stored in a table with the columns of `errorlogs`"),
        ("error", b'{"callInfo":{}}', "an API log record cannot be stored in a table with the columns of `errorlogs`"),
        ("api", b'{"message":"m","apiName":"a"}', "an error log record cannot be stored"),
        ("audit", b'{"message":"m","apiName":"a"}', "an error log record cannot be stored"),
    ],
)
def test_records_of_another_table_are_refused(kind: TableKind, record: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        map_record(kind, raw(record))


def test_text_that_is_no_utf8_is_refused() -> None:
    with pytest.raises(ValueError, match=r"api\.objects: not valid UTF-8"):
        map_record("api", raw(b'{"trigger":"x","api":{"objects":["\xff"]}}'))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
field_names = st.sampled_from(
    ["tags", "event", "level2", "api.status", "status", "tags.event", "type", "accessKey", "rx", "name", "error"]
) | st.text(max_size=4)
SCHEMAS = {"api": API_SCHEMA, "audit": AUDIT_SCHEMA, "error": ERROR_SCHEMA}


@given(
    kind=st.sampled_from(["api", "audit", "error"]),
    fields=st.dictionaries(field_names, json_values, max_size=5),
    call=st.dictionaries(field_names, json_values, max_size=4),
)
def test_nothing_is_lost_and_nothing_becomes_a_column(
    kind: TableKind, fields: dict[str, object], call: dict[str, object]
) -> None:
    shape = {"level": "INFO"} if kind == "error" else {"trigger": "incoming"}
    record = fields | shape | {"time": "t", "api": call}
    record.pop("trigger" if kind == "error" else "level", None)
    if kind == "error":
        record.pop("event", None)
    row = mapped(kind, json.dumps(record).encode())
    assert set(row) <= set(SCHEMAS[kind].column_names)
    tags = row.get("tags", {})
    assert all(value is None or isinstance(value, str) for value in tags.values())
    kept = json.dumps(row, ensure_ascii=False)
    stored = {value for value in kept_texts(row)}
    for name, value in record.items():
        nested = value if kind == "error" and name == "error" and isinstance(value, dict) else {name: value}
        for item in nested.values() if name not in ("api", "tags") else ():
            assert_kept(item, stored, kept)
    for value in call.values():
        if value != -1 and kind != "audit":
            assert_kept(value, stored, kept)
    own = record.get("tags")
    for value in own.values() if isinstance(own, dict) else [own]:
        assert_kept(value, stored, kept)
    if kind == "audit":
        assert json.loads(row["details"]) == call


def kept_texts(value: object) -> list[str]:
    """Canonical text of every value in a row, and of what its strings hold as JSON."""
    found = [json.dumps(value, sort_keys=True)]
    if isinstance(value, dict):
        found += [text for item in value.values() for text in kept_texts(item)]
    elif isinstance(value, list):
        found += [text for item in value for text in kept_texts(item)]
    elif isinstance(value, str):
        with contextlib.suppress(ValueError):
            found.append(json.dumps(json.loads(value), sort_keys=True))
    return found


def assert_kept(value: object, stored: set[str], kept: str) -> None:
    if value is not None:
        assert json.dumps(value, sort_keys=True) in stored, kept


CASES: list[tuple[str, Kind, dict[str, object]]] = [
    ("legacy audit", "legacy_audit", {"api": {"name": "PutObject"}, "trigger": "incoming", "event": ""}),
    ("legacy audit with event only", "legacy_audit", {"api": {}, "event": "x"}),
    ("legacy audit of 2020", "legacy_audit", {"version": "1", "time": "t", "api": {"name": "PutObject"}}),
    ("server log", "server_log", {"level": "ERROR", "api": {"name": "SYSTEM.iam"}, "error": {"message": "m"}}),
    ("server log without api", "server_log", {"level": "INFO", "message": "m"}),
    ("api", "api", {"type": "object", "name": "s3.GetObject", "callInfo": {"rx": 1}}),
    ("internal api", "api", {"type": "object", "name": "s3.GetObject"}),
    ("api with only a call", "api", {"time": "t", "callInfo": {}}),
    ("audit of older servers", "audit", {"category": "user", "action": "create", "details": "{}"}),
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
