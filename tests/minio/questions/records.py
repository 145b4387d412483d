"""Log records for the questions: generated ones and a story made by hand, and their meaning worked out in Python.

Nothing here uses SQL or the declarations of the questions, so that an answer can be compared with what it should be.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from frazil.minio.generators.community import CommunityAudit
from frazil.minio.generators.generate import records
from frazil.minio.generators.templates import go_json
from frazil.minio.records.kinds import TableKind

START = datetime(2026, 11, 20, 21, 15, tzinfo=UTC)
SPAN = timedelta(hours=6)
NIGHT = "2026-11-21T02:"  # the story happens here

SESSION = "STORYSESSION00000001"
OPENID_PARENT = "q7cV2dZpXbT4mKJ0h1sYwA8uRf3nLgE6oBiCjD5tHxM"
CLAIMS = {
    "accessKey": SESSION,
    "parent": OPENID_PARENT,
    "preferred_username": "eve",
    "sub": "6f0c1a52",
    "policy": "readonly",
    "sessionPolicy": "e30=",
    "exp": "1795000000",
}
EXPIRED = {"accessKey": "STORYSESSION00000002", "parent": "app-reader", "exp": "1795226400"}  # 2026-11-21T02:00Z

Record = dict[str, Any]


def _call(minute: str, name: str, status: int, **more: Any) -> Record:
    info = {
        "httpStatusCode": status,
        "sourceHost": "198.51.100.9",
        "requestID": f"STORY{minute.replace(':', '').replace('.', '')}",
        "userAgent": "story/1.0",
        "accessKey": "storykey",
        "timeToResponse": "5ms",
    } | more.pop("info", {})
    kind = "auth" if name.startswith("sts.") else "object"
    record = {"version": "1", "time": f"{NIGHT}{minute}Z", "node": "story-node", "origin": "client", "type": kind}
    return record | {"name": name, **more, "callInfo": {k: v for k, v in info.items() if v != ""}}


STORY: dict[TableKind, list[Record]] = {
    "api": [
        _call("00:00.5", "sts.AssumeRoleWithWebIdentity", 200, info={"requestClaims": CLAIMS, "accessKey": ""}),
        _call(
            "01:00",
            "sts.AssumeRole",
            403,
            info={"userAgent": "MinIO (linux; amd64) minio-go/v7.0.95 MinIO Console/(dev)", "accessKey": "mallory"},
        ),
        _call(
            "02:00",
            "s3.GetObject",
            206,
            bucket="vault",
            object='plan\'s "draft".pdf',
            info={"accessKey": SESSION, "parentUser": OPENID_PARENT, "requestClaims": CLAIMS, "tx": 1234},
        ),
        _call(
            "03:00",
            "s3.GetObject",
            403,
            bucket="vault",
            object="secret.pdf",
            info={"accessKey": SESSION, "parentUser": OPENID_PARENT, "requestClaims": CLAIMS},
        ),
        _call(
            "04:00",
            "s3.HeadObject",
            403,
            bucket="vault",
            object="secret.pdf",
            info={"responseHeader": {"X-Minio-Error-Code": "AccessDenied", "X-Minio-Error-Desc": '"Access Denied."'}},
        ),
        _call(
            "05:00",
            "s3.ListObjectsV2",
            403,
            bucket="vault",
            info={"accessKey": "STORYSESSION00000002", "parentUser": "app-reader", "requestClaims": EXPIRED},
        ),
        _call("06:00", "s3.DeleteObject", 204, bucket="vault", object='plan\'s "draft".pdf', versionId="v7"),
        _call("06:30", "s3.DeleteObject", 403, bucket="vault", object="secret.pdf"),
        _call("07:00", "s3.DeleteMultipleObjects", 200, bucket="vault"),
        _call("08:00", "s3.DeleteBucket", 204, bucket="vault"),
        {
            "version": "1",
            "time": f"{NIGHT}09:00Z",
            "node": "story-node",
            "origin": "ilm",
            "type": "object",
            "name": "ILMExpiry",
            "bucket": "vault",
            "object": "old.log",
        },
        _call(
            "10:00",
            "s3.PutObject",
            200,
            bucket="vault",
            object="slow.bin",
            info={"timeToResponse": "1m2.5s", "requestTime": "1h1m1.5s", "requestReadTime": "207.1µs", "rx": 2**40},
        ),
        _call("11:00", "s3.GetObject", 200, bucket="vault", object="x", info={"timeToResponse": "13309747ns", "tx": 7}),
        _call(
            "12:00",
            "s3.GetObject",
            200,
            bucket="vault",
            object="x",
            info={"requestHeader": {"X-Forwarded-For": "203.0.113.99, 10.0.0.1"}, "sourceHost": "10.0.0.1"},
        ),
        _call(
            "13:00",
            "s3.GetObject",
            200,
            bucket="vault",
            object="x",
            info={"requestHeader": {"Forwarded": 'for="203.0.113.98";proto=https'}, "sourceHost": "203.0.113.98"},
        ),
        # community records in this topic
        {
            "version": "1",
            "time": f"{NIGHT}14:00Z",
            "trigger": "incoming",
            "api": {
                "name": "DeleteMultipleObjects",
                "bucket": "vault",
                "objects": [{"objectName": "m/1"}, {"objectName": "m/2", "versionId": "v2"}],
                "statusCode": 200,
                "rx": 300,
                "tx": -1,
            },
            "remotehost": "198.51.100.10",
            "requestID": "STORY1400",
            "accessKey": "legacykey",
        },
        {
            "version": "1",
            "time": f"{NIGHT}15:00Z",
            "trigger": "incoming",
            "api": {"name": "SetUserStatus", "statusCode": 200, "rx": 0, "tx": 0},
            "requestPath": "/minio/admin/v3/set-user-status",
            "requestQuery": {"accessKey": "app-reader", "status": "disabled"},
            "requestID": "STORY1500",
            "accessKey": "minioadmin",
        },
        {
            "version": "1",
            "time": f"{NIGHT}15:30Z",
            "trigger": "incoming",
            "api": {"name": "GetUserInfo", "statusCode": 200, "rx": 0, "tx": 0},
            "requestPath": "/minio/admin/v3/user-info",
            "requestQuery": {"accessKey": "app-reader"},
            "requestID": "STORY1530",
            "accessKey": "minioadmin",
        },
    ],
    "error": [
        {
            "version": "1",
            "node": "story-node",
            "time": f"{NIGHT}03:00.1Z",
            "message": "explicit deny in policy `vault-guard`",
            "apiName": "s3.GetObject",
            "tags": {"requestID": "STORY0300", "bucket": "vault"},
            "trace": {"source": ["cmd/auth-handler.go:1"]},
        },
        *(
            {
                "version": "1",
                "node": "story-node",
                "time": f"{NIGHT}20:0{n}Z",
                "message": f"drive {n} of request 17CDC1F4D7E6912{n} is slow",
                "apiName": "",
                "trace": {"source": [f"cmd/drive.go:{n}"], "variables": {"bucket": "vault"}},
            }
            for n in range(3)
        ),
    ],
    "audit": [
        {
            "version": "1",
            "time": f"{NIGHT}30:00Z",
            "apiName": "admin.SetPolicy",
            "category": "policy",
            "action": "update",
            "accessKey": "minioadmin",
            "details": {"policy": {"policyName": "vault-guard", "oldPolicy": '{"a":1}', "newPolicy": '{"a":2}'}},
            "requestID": "STORY3000",
        },
        {
            "version": "1",
            "time": f"{NIGHT}31:00Z",
            "apiName": "admin.AddUserToGroup",
            "category": "group",
            "action": "attach",
            "accessKey": "svc-1",
            "parentUser": "ops",
            "details": '{"group":{"groupName":"analysts","membersAdded":["eve","ada"]}}',
            "requestID": "STORY3100",
        },
        {
            "version": "1",
            "time": f"{NIGHT}32:00Z",
            "apiName": "admin.SetConfig",
            "category": "config",
            "accessKey": "minioadmin",
            "message": "minioadmin changed api requests_max",
            "metadata": {"diff": {"old": "0", "new": "1600"}, "attempt": 2},
            "requestID": "STORY3200",
        },
        {
            "version": "1",
            "time": f"{NIGHT}33:00Z",
            "apiName": "admin.Odd",
            "category": "service",
            "action": "restart",
            "accessKey": "minioadmin",
            "details": "not JSON, {",
            "requestID": "STORY3300",
        },
        # community records in this topic
        {
            "version": "1",
            "time": f"{NIGHT}34:00Z",
            "trigger": "incoming",
            "api": {
                "name": "DeleteMultipleObjects",
                "bucket": "vault",
                "objects": [{"objectName": "n/1"}],
                "statusCode": 200,
                "rx": 100,
                "tx": 200,
                "timeToResponse": "2500000ns",
            },
            "remotehost": "198.51.100.11",
            "requestID": "STORY3400",
            "requestHeader": {"X-Forwarded-For": "203.0.113.97"},
            "accessKey": "legacykey",
        },
    ],
}


def all_records() -> dict[TableKind, list[Record]]:
    """Records by topic: generated ones of both generations, then the story."""
    rng = random.Random(5)
    community = CommunityAudit(rng)
    counts: tuple[tuple[TableKind, int, int], ...] = (("api", 1500, 40), ("error", 200, 0), ("audit", 300, 24))
    made: dict[TableKind, list[Record]] = {}
    for kind, count, older in counts:
        made[kind] = [json.loads(text) for text in records(kind, count, seed=11, start=START, span=SPAN)]
        for number in range(older):
            time = START + SPAN * number / older
            made[kind].append(json.loads(go_json(community.make(time.isoformat().replace("+00:00", "Z")))))
        made[kind] += STORY[kind]
    return made


@dataclass(frozen=True)
class Call:
    """What a record of an API call says, whatever its shape."""

    time: datetime
    api: str
    bucket: str | None
    names: tuple[tuple[str | None, str | None], ...]
    status: int | None
    rx: int
    tx: int
    client: bool
    type: str | None
    who: str | None
    access_key: str | None
    identity: str | None
    source_host: str | None
    request_id: str | None
    node: str | None
    duration: str | None
    headers: dict[str, str]
    agent: str
    claims: dict[str, Any]
    path: str
    legacy: bool


def instant(text: str) -> datetime:
    """Time of a record, to the microsecond."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+Z$", r"\1Z", text))


def _identity(claims: Record) -> str | None:
    names = ("preferred_username", "ldapUsername", "ldapActualUser", "ldapUser", "email", "sub", "parent")
    return next((str(claims[name]) for name in names if name in claims), None)


def call_of(record: Record) -> Call:
    legacy = "api" in record
    call, info = (record["api"], record) if legacy else (record, record.get("callInfo", {}))
    claims = info.get("requestClaims", {})
    parent, key = info.get("parentUser"), info.get("accessKey")
    named = tuple((o["objectName"], o.get("versionId")) for o in call.get("objects", ()))
    origin = (
        {"incoming": "client"}.get(record.get("trigger", ""), record.get("trigger")) if legacy else record["origin"]
    )
    return Call(
        time=instant(record["time"]),
        api=re.sub(r"^(s3|sts)\.", "", call["name"]),
        bucket=call.get("bucket"),
        names=named or ((call.get("object"), record.get("versionId")),),
        status=call.get("statusCode") if legacy else info.get("httpStatusCode"),
        rx=max(0, (call if legacy else info).get("rx", 0)),
        tx=max(0, (call if legacy else info).get("tx", 0)),
        client=origin in (None, "client"),
        type=record.get("type"),
        who=parent or key or claims.get("parent") or _identity(claims),
        access_key=key,
        identity=_identity(claims),
        source_host=record.get("remotehost") if legacy else info.get("sourceHost"),
        request_id=info.get("requestID"),
        node=record.get("requestNode") if legacy else record.get("node"),
        duration=(call.get("timeToResponse") if legacy else info.get("requestTime") or info.get("timeToResponse")),
        headers=info.get("requestHeader", {}),
        agent=info.get("userAgent", ""),
        claims=claims,
        path=info.get("requestPath", ""),
        legacy=legacy,
    )


def calls(made: dict[TableKind, list[Record]]) -> list[Call]:
    """Every API call: the records of `apilogs` and the community records among `auditlogs`."""
    return [call_of(r) for r in made["api"]] + [call_of(r) for r in made["audit"] if "api" in r]


def milliseconds(text: str) -> float:
    """A Go duration; `1m2.5s` is 62500."""
    sizes = {"h": 3_600_000.0, "m": 60_000.0, "s": 1000.0, "ms": 1.0, "µs": 1e-3, "us": 1e-3, "ns": 1e-6}
    return sum(float(number) * sizes[unit] for number, unit in re.findall(r"([0-9.]+)(h|ms|m|µs|us|ns|s)", text))
