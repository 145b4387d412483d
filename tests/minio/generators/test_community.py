from __future__ import annotations

import json
import random
from typing import Any

from frazil.minio.generators import vocabulary as words
from frazil.minio.generators.community import CommunityAudit
from frazil.minio.generators.templates import go_json
from frazil.minio.records.legacy import classify

TIME = "2026-11-28T10:00:00Z"


def made(count: int = 80) -> list[dict[str, Any]]:
    community = CommunityAudit(random.Random(2))
    return [json.loads(go_json(community.make(TIME))) for _ in range(count)]


def test_every_entry_is_an_audit_entry() -> None:
    assert {classify(entry) for entry in made()} == {"legacy_audit"}
    assert {entry["time"] for entry in made()} == {TIME}


def test_every_kind_of_call_comes_in_turn() -> None:
    names = {entry["api"]["name"] for entry in made(8)}
    assert names >= {"PutObject", "DeleteMultipleObjects", "GetObject", "AddUser", "ILMExpiry"}
    assert any(name.startswith("AssumeRole") for name in names)


def test_a_multi_delete_names_its_objects() -> None:
    deletes = [entry["api"]["objects"] for entry in made() if entry["api"]["name"] == "DeleteMultipleObjects"]
    assert all(item["objectName"] for objects in deletes for item in objects)
    assert {len(objects) for objects in deletes} == {1, 2, 3, 4}
    assert all(objects[0]["versionId"] == words.VERSION_ID for objects in deletes)


def test_entries_of_2020_lack_what_came_later() -> None:
    old = [entry for entry in made() if "trigger" not in entry]
    assert old
    assert all({"event", "accessKey", "requestNode"}.isdisjoint(entry) for entry in old)
    assert all("rx" not in entry["api"] for entry in old)


def test_a_sign_in_tells_the_key_of_the_session_that_it_makes() -> None:
    keys = {session.access_key for session in words.SESSIONS}
    entries = [entry for entry in made() if entry["api"]["name"].startswith("AssumeRole")]
    succeeded = [entry for entry in entries if entry["api"]["statusCode"] == 200]
    assert {entry["requestClaims"]["accessKey"] for entry in succeeded} <= keys
    assert all("requestClaims" not in entry for entry in entries if entry not in succeeded)
    assert len(succeeded) < len(entries)
