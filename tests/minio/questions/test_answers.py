"""Answers to the questions, against what the records say."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from frazil.minio.questions.catalog import QUESTIONS, VIEWS
from tests.minio.questions.conftest import Asked
from tests.minio.questions.records import SESSION, Call, instant, milliseconds

pytestmark = pytest.mark.stack

READS = {"getobject", "selectobjectcontent"}
WRITES = {"putobject", "putobjectpart", "copyobject"}
DELETES = {"deleteobject", "deletemultipleobjects"}
TENTH = timedelta(seconds=0.1)
NIGHT = datetime(2026, 11, 21, 2, tzinfo=UTC)


def night(minutes: float) -> datetime:
    return NIGHT + timedelta(minutes=minutes)


def columns(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def counted(rows: list[dict[str, Any]], key: Iterable[str], value: str) -> dict[tuple[Any, ...], Any]:
    return {tuple(row[name] for name in key): row[value] for row in rows}


def grouped(calls: Iterable[Call], key: Callable[[Call], tuple[Any, ...]]) -> dict[tuple[Any, ...], list[Call]]:
    groups: dict[tuple[Any, ...], list[Call]] = defaultdict(list)
    for call in calls:
        groups[key(call)].append(call)
    return groups


@pytest.mark.parametrize("name", QUESTIONS)
def test_columns_are_those_that_are_described(asked: Asked, name: str) -> None:
    rows = asked.ask(name)
    assert rows, "the records hold an answer to every question"
    assert list(rows[0]) == list(QUESTIONS[name].columns)


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_row_lies_outside_the_time(asked: Asked, name: str) -> None:
    for row in asked.ask(name, since=night(0), until=night(8)):
        for column in ("time", "last_time", "last_call", "hour"):
            assert row.get(column) is None or NIGHT <= row[column] < night(8), row
    assert asked.ask(name, since=night(600)) == []


@pytest.mark.parametrize("name", QUESTIONS)
def test_rows_at_most(asked: Asked, name: str) -> None:
    assert asked.ask(name, rows=2) == asked.ask(name)[:2]


def test_every_deletion_is_found(asked: Asked) -> None:
    deletions = DELETES | {"deletebucket", "ilmexpiry"}
    expected = Counter(
        (call.time, call.bucket, name, version, call.who)
        for call in asked.calls
        if call.api.lower() in deletions and (call.status is None or call.status < 300)
        for name, version in call.names
    )
    rows = asked.ask("who-deleted")
    assert Counter(columns(rows, "time", "bucket", "object", "version_id", "who")) == expected
    assert len({row["object"] for row in rows if str(row["object"]).startswith("raw/part-")}) > 2
    assert {row["origin"] for row in rows if row["api"] == "ILMExpiry"} == {"ilm"}


def test_who_deleted_one_object_and_what_may_have(asked: Asked) -> None:
    rows = asked.ask("who-deleted", bucket="vault", object='plan\'s "draft".pdf')
    assert columns(rows, "time", "what", "object", "version_id", "who") == [
        (night(6), "object", 'plan\'s "draft".pdf', "v7", "storykey"),
        (night(8), "bucket", None, None, "storykey"),
        (night(7), "objects without names", None, None, "storykey"),
    ]


@pytest.mark.parametrize(
    ("name", "version", "request_id"),
    [("m/1", None, "STORY1400"), ("m/2", "v2", "STORY1400"), ("n/1", None, "STORY3400")],
)
def test_names_of_a_multi_delete(asked: Asked, name: str, version: str | None, request_id: str) -> None:
    rows = [row for row in asked.ask("who-deleted", object=name) if row["object"] is not None]
    assert columns(rows, "what", "version_id", "who", "request_id") == [("object", version, "legacykey", request_id)]


def test_every_read_is_found(asked: Asked) -> None:
    expected = Counter(
        (call.time, call.bucket, call.names[0][0], call.who, call.access_key, call.tx)
        for call in asked.calls
        if call.api.lower() in READS and call.status is not None and call.status < 300
    )
    rows = [row | {"bytes_out": row["bytes_out"] or 0} for row in asked.ask("who-read")]
    assert Counter(columns(rows, "time", "bucket", "object", "who", "access_key", "bytes_out")) == expected


def test_who_read_one_object(asked: Asked) -> None:
    [row] = asked.ask("who-read", object='plan\'s "draft".pdf', user="eve")
    assert (row["status"], row["bytes_out"], row["access_key"]) == (206, 1234, SESSION)
    assert asked.ask("who-read", object='plan\'s "draft".pdf', user="ada") == []
    assert asked.ask("who-read", object="plan%") == []


def test_the_history_of_an_object(asked: Asked) -> None:
    assert columns(asked.ask("object-history", object="secret.pdf"), "time", "api", "status") == [
        (night(6.5), "DeleteObject", 403),
        (night(4), "HeadObject", 403),
        (night(3), "GetObject", 403),
    ]
    [row] = asked.ask("object-history", object="m/2")
    assert (row["api"], row["version_id"]) == ("DeleteMultipleObjects", "v2")
    [row] = asked.ask("object-history", object="old.log")
    assert (row["api"], row["origin"], row["who"]) == ("ILMExpiry", "ilm", None)


def test_logins_and_failures(asked: Asked) -> None:
    expected = Counter(
        (call.time, call.api, call.status, "console" if "Console" in call.agent else "client")
        for call in asked.calls
        if call.api.startswith("AssumeRole")
    )
    rows = asked.ask("logins")
    assert Counter(columns(rows, "time", "method", "status", "via")) == expected
    assert {row["outcome"] for row in rows if row["status"] == 200} == {"success"}
    assert {row["outcome"] for row in rows if row["status"] >= 400} == {"failure"}
    assert all((row["session_key"] is None) == (row["outcome"] == "failure") for row in rows)
    story = [row for row in rows if row["time"] >= NIGHT and row["request_id"].startswith("STORY")]
    assert columns(story, "outcome", "who", "identity", "via", "session_key", "expires_at") == [
        ("failure", "mallory", None, "console", None, None),
        ("success", "q7cV2dZpXbT4mKJ0h1sYwA8uRf3nLgE6oBiCjD5tHxM", "eve", "client", SESSION,
         datetime.fromtimestamp(1795000000, UTC)),
    ]  # fmt: skip


def test_a_failed_login_names_who_tried_and_why(asked: Asked) -> None:
    tried = [row for row in asked.ask("logins", user="mallory") if row["method"] == "AssumeRoleWithLDAPIdentity"]
    assert tried
    assert {(row["who"], row["reason"]) for row in tried} == {("mallory", "LDAP authentication failed")}


def test_why_denied_with_the_session_behind_it(asked: Asked) -> None:
    rows = {row["request_id"]: row for row in asked.ask("why-denied", bucket="vault")}
    assert set(rows) == {"STORY0300", "STORY0400", "STORY0500", "STORY0630"}
    by_log = rows["STORY0300"]
    assert by_log["reason"] == "explicit deny in policy `vault-guard`"
    assert (by_log["identity"], by_log["policy"], by_log["session_policy"]) == ("eve", "readonly", True)
    assert (by_log["assumed_at"], by_log["assumed_by"]) == (night(0.5 / 60), "AssumeRoleWithWebIdentity")
    assert (by_log["assumed_from"], by_log["assume_request"]) == ("198.51.100.9", "STORY00005")
    assert by_log["expires_at"] == datetime.fromtimestamp(1795000000, UTC)
    assert by_log["claims"]["sub"] == "6f0c1a52"
    assert rows["STORY0400"]["reason"] == "Access Denied."
    assert (rows["STORY0400"]["assumed_at"], rows["STORY0400"]["session_policy"]) == (None, False)
    expired = rows["STORY0500"]
    assert (expired["reason"], expired["who"]) == ("the session had expired", "app-reader")
    assert expired["expires_at"] == NIGHT
    assert rows["STORY0630"]["reason"] is None


def test_every_refusal_is_found_once(asked: Asked) -> None:
    expected = Counter((call.time, call.api, call.who) for call in asked.calls if call.status in (401, 403))
    assert Counter(columns(asked.ask("why-denied"), "time", "api", "who")) == expected
    assert "Access Denied." in {row["reason"] for row in asked.ask("why-denied", user="app-reader")}


def test_a_session_is_found_that_was_made_before_the_time(asked: Asked) -> None:
    [row] = asked.ask("why-denied", since=night(2.5), bucket="vault", user="eve")
    assert row["assumed_at"] == night(0.5 / 60)


def test_sessions_and_what_was_done_with_them(asked: Asked) -> None:
    [row] = asked.ask("sessions", user="eve")
    assert (row["session_key"], row["calls"], row["denied"], row["buckets"]) == (SESSION, 2, 1, 1)
    assert (row["first_call"], row["last_call"]) == (night(2), night(3))
    made = {
        call.claims["accessKey"]: call.time
        for call in sorted(asked.calls, key=lambda call: call.time)
        if call.api.startswith("AssumeRole") and call.status == 200
    }
    used = Counter(call.access_key for call in asked.calls)
    rows = asked.ask("sessions")
    assert counted(rows, ["session_key"], "assumed_at") == {(key,): time for key, time in made.items()}
    assert counted(rows, ["session_key"], "calls") == {(key,): used[key] for key in made}
    later = asked.ask("sessions", since=night(1))
    assert {row["session_key"] for row in later} >= {SESSION}
    assert all(row["calls"] > 0 or row["assumed_at"] >= night(1) for row in later)


def test_changes_of_every_generation(asked: Asked) -> None:
    rows = {row["request_id"]: row for row in asked.ask("changes", since=NIGHT) if "STORY" in str(row["request_id"])}
    shown = {
        key: columns([row], "who", "category", "action", "target", "before", "after")[0] for key, row in rows.items()
    }
    assert shown == {
        "STORY3000": ("minioadmin", "policy", "update", "vault-guard", '{"a":1}', '{"a":2}'),
        "STORY3100": ("ops", "group", "attach", "analysts", None, '["eve","ada"]'),
        "STORY3200": ("minioadmin", "config", None, None, "0", "1600"),
        "STORY3300": ("minioadmin", "service", "restart", None, None, None),
        "STORY1500": ("minioadmin", "admin", None, "app-reader", None, "disabled"),
    }
    assert rows["STORY3200"]["message"] == "minioadmin changed api requests_max"
    assert rows["STORY3300"]["details"] == "not JSON, {"


def test_every_audit_record_is_a_change(asked: Asked) -> None:
    audits = [record for record in asked.made["audit"] if "api" not in record]
    users = [call for call in asked.calls if call.api == "AddUser"]
    found = Counter(columns(asked.ask("changes"), "time", "category"))
    expected = Counter((instant(r["time"]), r["category"]) for r in audits) + Counter((c.time, "admin") for c in users)
    assert users
    assert expected <= found
    extra = found - expected
    assert {category for _, category in extra} <= {"admin", "bucket"}
    newer = [row for row in asked.ask("changes") if row["message"] is not None]
    assert newer
    assert all(row["before"] is not None and row["after"] is not None for row in newer)


def test_traffic_per_bucket_and_hour(asked: Asked) -> None:
    groups = grouped(
        (call for call in asked.calls if call.client),
        lambda call: (call.time.replace(minute=0, second=0, microsecond=0), call.bucket),
    )
    rows = asked.ask("traffic")

    def expect(column: str, value: Callable[[list[Call]], int]) -> None:
        assert counted(rows, ("hour", "bucket"), column) == {key: value(calls) for key, calls in groups.items()}, column

    expect("calls", len)
    expect("reads", lambda calls: sum(call.api.lower() in READS for call in calls))
    expect("writes", lambda calls: sum(call.api.lower() in WRITES for call in calls))
    expect("deletes", lambda calls: sum(call.api.lower() in DELETES for call in calls))
    expect("lists", lambda calls: sum(call.api.lower().startswith("list") for call in calls))
    expect("errors", lambda calls: sum((call.status or 0) >= 400 for call in calls))
    expect("bytes_in", lambda calls: sum(call.rx for call in calls))
    expect("bytes_out", lambda calls: sum(call.tx for call in calls))


def test_top_talkers(asked: Asked) -> None:
    groups = grouped(
        (call for call in asked.calls if call.client), lambda call: (call.who, call.access_key, call.source_host)
    )
    rows = asked.ask("talkers")
    key = ("who", "access_key", "source_host")
    assert counted(rows, key, "calls") == {k: len(calls) for k, calls in groups.items()}
    assert counted(rows, key, "bytes_out") == {k: sum(c.tx for c in calls) for k, calls in groups.items()}
    assert counted(rows, key, "last_call") == {k: max(c.time for c in calls) for k, calls in groups.items()}
    for k, seconds in counted(rows, key, "busy_s").items():
        known = [milliseconds(call.duration) for call in groups[k] if call.duration]
        assert seconds == (pytest.approx(sum(known) / 1000, abs=0.001) if known else None)
    assert [row["calls"] for row in rows] == sorted((row["calls"] for row in rows), reverse=True)


def test_clients_behind_proxies(asked: Asked) -> None:
    rows = asked.ask("proxies")
    groups = grouped(
        (c for c in asked.calls if "X-Forwarded-For" in c.headers),
        lambda c: (c.source_host, c.headers["X-Forwarded-For"].partition(",")[0]),
    )
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if "for=" not in row["forwarded"]:
            found[row["source_host"], row["client"]] += row["calls"]
    assert found == {key: len(calls) for key, calls in groups.items()}
    story = {row["client"]: row for row in rows}
    assert columns([story["203.0.113.99"]], "source_host", "trusted") == [("10.0.0.1", False)]
    assert columns([story["203.0.113.98"]], "source_host", "trusted") == [("203.0.113.98", True)]
    assert columns([story["203.0.113.97"]], "source_host", "trusted") == [("198.51.100.11", False)]


def test_slowest_calls_with_durations_as_numbers(asked: Asked) -> None:
    rows = asked.ask("slowest")
    expected = sorted((milliseconds(c.duration) for c in asked.calls if c.duration), reverse=True)
    assert [row["duration_ms"] for row in rows] == pytest.approx(expected)
    assert (rows[0]["object"], rows[0]["duration_ms"]) == ("slow.bin", 3_661_500.0)
    assert rows[0]["read_ms"] == pytest.approx(0.2071)
    durations = counted(rows, ["request_id"], "duration_ms")
    assert durations["STORY1100",] == pytest.approx(13.309747)
    assert durations["STORY3400",] == pytest.approx(2.5)


def test_errors_by_api_and_node(asked: Asked) -> None:
    groups = grouped((c for c in asked.calls if (c.status or 0) >= 400), lambda c: (c.api, c.node, c.status))
    totals = Counter((c.api, c.node) for c in asked.calls)
    rows = asked.ask("errors")
    key = ("api", "node", "status")
    assert counted(rows, key, "failed") == {k: len(calls) for k, calls in groups.items()}
    assert counted(rows, key, "last_time") == {k: max(c.time for c in calls) for k, calls in groups.items()}
    for (api, node, _), row in zip(columns(rows, *key), rows, strict=True):
        assert row["percent"] == pytest.approx(100 * row["failed"] / totals[api, node], abs=0.005)
    [head] = [row for row in rows if row["node"] == "story-node" and row["api"] == "HeadObject"]
    assert (head["reason"], head["last_request"]) == ("Access Denied.", "STORY0400")


def test_server_errors_that_differ_in_numbers_are_one(asked: Asked) -> None:
    rows = asked.ask("server-errors", bucket="vault")
    assert columns(rows, "message", "api", "times", "source", "last_time") == [
        ("drive 2 of request 17CDC1F4D7E69122 is slow", None, 3, "cmd/drive.go:2", night(20) + 20 * TENTH),
        ("explicit deny in policy `vault-guard`", "s3.GetObject", 1, "cmd/auth-handler.go:1", night(3) + TENTH),
    ]  # fmt: skip
    assert sum(row["times"] for row in asked.ask("server-errors")) == len(asked.made["error"])


def test_server_errors_with_and_without_a_request_id_are_one(asked: Asked) -> None:
    made = [str(record["message"]) for record in asked.made["error"]]
    assert any(re.search(r"« fehlt .*\([0-9A-F]{16}\)$", message) for message in made)
    rows = asked.ask("server-errors", rows=1000)
    kinds = [(row["node"], row["api"], row["level"], _kind(row["message"])) for row in rows]
    assert len(kinds) == len(set(kinds))


def _kind(message: str) -> str:
    return re.sub(r"\d+", "#", re.sub(r" \([0-9A-F]{16}\)$", "", message))


def test_values_are_values_and_nothing_else(asked: Asked) -> None:
    for text in ("' OR '1'='1", "x'; DROP TABLE apilogs; --", "%", "\\", "𝄞\n'"):
        assert [row for row in asked.ask("who-read", object=text, user=text)] == []
    assert len(asked.rows("SELECT 1 AS n FROM apilogs")) == len(asked.made["api"])


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_all_rows(asked: Asked, name: str) -> None:
    question = VIEWS[name]
    rows = asked.rows(f"SELECT * FROM {name}")  # noqa: S608
    assert list(rows[0]) == list(question.columns)
    assert sorted(map(repr, rows)) == sorted(map(repr, asked.ask(question.name)))
