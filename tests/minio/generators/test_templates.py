from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.minio.generators import vocabulary as words
from frazil.minio.generators.templates import SLOTS, go_json, omit_empty, templates
from frazil.minio.records.kinds import TableKind
from frazil.minio.records.tables import SCHEMAS

FILLING = {name.encode(): b"1" for name in SLOTS}


def filled(kind: str) -> list[dict[str, Any]]:
    return [json.loads(template.text % FILLING) for template in templates(kind, random.Random(3))]


def test_go_json_escapes_as_go_does() -> None:
    assert (
        go_json({"a": "<b> & ü\n\\", "n": 2**64}) == '{"a":"\\u003cb\\u003e \\u0026 ü\\n\\\\","n":18446744073709551616}'
    )


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())))
def test_go_json_is_json(value: dict[str, object]) -> None:
    assert json.loads(go_json(value)) == value


def test_omit_empty() -> None:
    record = {"a": "", "b": 0, "c": {"d": {}, "e": []}, "f": {"g": False, "h": 1}, "i": None, "j": "x"}
    assert omit_empty(record) == {"f": {"h": 1}, "j": "x"}


@pytest.mark.parametrize("kind", ["api", "error", "audit"])
def test_records_fill_columns_of_their_table_only(kind: TableKind) -> None:
    columns = {field.name for field in SCHEMAS[kind].fields}
    for record in filled(kind):
        assert set(record) <= columns
        assert record["version"] == "1"
        assert "\ue000" not in json.dumps(record, ensure_ascii=False)


def test_api_records_cover_names_origins_and_types() -> None:
    records = filled("api")
    assert {r["name"] for r in records} == {call.name for call in words.CALLS}
    assert {r["origin"] for r in records} == set(words.ORIGINS)
    assert {r["type"] for r in records} == {call.type for call in words.CALLS}
    assert all(("callInfo" in r) == (r["origin"] == "client") for r in records)
    assert {r.get("bucket") for r in records} == {None, *words.BUCKETS}
    statuses = {r["callInfo"]["httpStatusCode"] for r in records if "callInfo" in r}
    assert {200, 204, 403, 404, 503} <= statuses
    assert any(not r.get("object", "").isascii() for r in records)


def test_call_info_has_only_known_fields_and_no_zero() -> None:
    known = {name.partition(".")[2] for name in SCHEMAS["api"].column_names if name.count(".") == 1}
    infos = [r["callInfo"] for r in filled("api") if "callInfo" in r]
    for info in infos:
        assert set(info) <= known
        assert all(info.values())
    assert any("Authorization" in info["requestHeader"] for info in infos)
    assert any("X-Amz-Signature" in info.get("requestQuery", {}) for info in infos)


def test_error_records_always_have_message_and_api_name() -> None:
    records = filled("error")
    assert all("message" in r and "apiName" in r for r in records)
    assert any(r["apiName"] == "" for r in records)


def test_audit_records_cover_categories_actions_arms_and_forms() -> None:
    records = filled("audit")
    assert {r["category"] for r in records} == set(words.CATEGORIES)
    assert {r["action"] for r in records if "action" in r} == set(words.ACTIONS)
    objects = [r["details"] for r in records if isinstance(r.get("details"), dict)]
    texts = [json.loads(r["details"]) for r in records if isinstance(r.get("details"), str)]
    for details in (objects, texts):
        assert {arm for detail in details for arm in detail} == set(words.DETAILS)
    newer = [r for r in records if "metadata" in r]
    assert newer
    assert all("message" in r and "diff" in r["metadata"] and "details" not in r for r in newer)


def test_sessions_are_made_by_a_call_and_used_by_others() -> None:
    infos = [(r["name"], r["callInfo"]) for r in filled("api") if "callInfo" in r]
    made = [i for name, i in infos if name.startswith("sts.") and i["httpStatusCode"] == 200]
    assert {i["requestClaims"]["accessKey"] for i in made} <= {session.access_key for session in words.SESSIONS}
    failed = [i for name, i in infos if name.startswith("sts.") and i["httpStatusCode"] != 200]
    assert all("requestClaims" not in i for i in failed)
    used = [i for name, i in infos if not name.startswith("sts.") and "exp" in i.get("requestClaims", {})]
    assert used
    assert all(i["requestClaims"]["accessKey"] == i["accessKey"] for i in used)
    assert all(i["requestClaims"]["parent"] == i["parentUser"] for i in used)


def test_clients_behind_proxies_are_logged_by_either_address() -> None:
    infos = [
        r["callInfo"] for r in filled("api") if "X-Forwarded-For" in r.get("callInfo", {}).get("requestHeader", {})
    ]
    trusted = [i["requestHeader"]["X-Forwarded-For"].partition(",")[0] == i["sourceHost"] for i in infos]
    assert {True, False} == set(trusted)
    assert all(i["sourceHost"] == words.PROXY_HOST for i, known in zip(infos, trusted, strict=True) if not known)


def test_only_a_response_without_a_body_has_its_error_in_headers() -> None:
    records = [(r["name"], r["callInfo"]) for r in filled("api") if "callInfo" in r]
    names = {name for name, info in records if "X-Minio-Error-Code" in info["responseHeader"]}
    assert names == {"s3.HeadObject"}
    assert all(info["httpStatusCode"] >= 400 for _, info in records if "X-Minio-Error-Code" in info["responseHeader"])


def test_newer_audit_records_tell_before_and_after() -> None:
    diffs = [r["metadata"]["diff"] for r in filled("audit") if "metadata" in r]
    assert all(diff["old"] != diff["new"] for diff in diffs)
