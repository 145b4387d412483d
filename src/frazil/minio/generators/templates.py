"""Templates of log records: JSON text with slots for what differs between two records of the same call.

A template is made once from a nested dictionary; filling one costs about a microsecond, which is what lets a
generator keep up with a producer.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass

from frazil.minio.generators import vocabulary as words

#: Slots of a template; each stands for bytes that are valid inside JSON (numbers bare, the others inside quotes).
SLOTS = ("time", "id", "rx", "length", "tx", "ttfb", "read", "write", "request", "response", "sig", "serial", "exp")

_OPEN, _CLOSE = "\ue000", "\ue001"
_NUMBERS = frozenset({"rx", "tx"})


@dataclass(frozen=True)
class Template:
    """A record for `text % slots`; `label` names it in a summary."""

    label: str
    text: bytes


def go_json(value: object) -> str:
    """JSON as Go's encoder writes it: compact, UTF-8, and `<`, `>`, `&` escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def templates(kind: str, rng: random.Random, size: int = 1024) -> list[Template]:
    """A pool of `size` templates for the kind `api`, `error` or `audit`, in the shares of real traffic."""
    if kind == "api":
        records = [_api(call, origin, rng) for call, origin in _traffic(rng, size)]
    elif kind == "error":
        records = [_error(rng) for _ in range(size)]
    else:
        records = [_audit(words.CATEGORIES[n % len(words.CATEGORIES)], n, rng) for n in range(size)]
    return [_compile(label, record) for label, record in records]


def _slot(name: str) -> str:
    return f"{_OPEN}{name}{_CLOSE}"


def _compile(label: str, record: dict[str, object]) -> Template:
    text = go_json(record).replace("%", "%%")
    for name in SLOTS:
        text = text.replace(f'"{_slot(name)}"' if name in _NUMBERS else _slot(name), f"%({name})b")
    return Template(label, text.encode())


def omit_empty(record: Mapping[str, object]) -> dict[str, object]:
    """Go's `omitempty`: no zero numbers, false, empty strings, lists or maps."""
    cleaned = {k: omit_empty(v) if isinstance(v, dict) else v for k, v in record.items()}
    return {k: v for k, v in cleaned.items() if v}


def _traffic(rng: random.Random, size: int) -> list[tuple[words.Call, str]]:
    """Calls and origins: each one once, the rest by weight; one in 25 object calls comes from the cluster itself."""
    objects = [call for call in words.CALLS if call.type == "object"]
    internal = words.ORIGINS[1:]
    traffic = [(call, "client") for call in words.CALLS] + [(rng.choice(objects), origin) for origin in internal]
    for call in rng.choices(words.CALLS, [call.weight for call in words.CALLS], k=max(0, size - len(traffic))):
        own = call.type == "object" and rng.random() < 0.04
        traffic.append((call, rng.choice(internal) if own else "client"))
    return traffic


def _api(call: words.Call, origin: str, rng: random.Random) -> tuple[str, dict[str, object]]:
    bucketless = call.type in ("admin", "auth") or call.name == "s3.ListBuckets"
    bucket = "" if bucketless else rng.choice(words.BUCKETS)
    name = rng.choice(words.OBJECTS).format(n=rng.randrange(100_000)) if call.with_object else ""
    obj = f"{name}-{_slot('serial')}" if name and rng.random() < 0.3 else name
    record: dict[str, object] = {
        "version": "1",
        "time": _slot("time"),
        "node": rng.choice(words.NODES),
        "origin": origin,
        "type": call.type,
        "name": call.name,
        "bucket": bucket,
        "object": obj,
        "versionId": words.VERSION_ID if obj and rng.random() < 0.1 else "",
        "tags": {"pool": str(rng.randrange(2)), "set": str(rng.randrange(16))} if rng.random() < 0.1 else {},
    }
    if origin == "client":
        record["callInfo"] = _call_info(call, bucket, obj, rng)
    return call.name, omit_empty(record)


def _call_info(call: words.Call, bucket: str, obj: str, rng: random.Random) -> dict[str, object]:
    signs_in = call.name.startswith("sts.")
    status = call.success if rng.random() < 0.93 else rng.choice((400, 403) if signs_in else words.OTHER_STATUSES)
    caller = _sign_in(call, status, rng) if signs_in else _caller(rng)
    uploads = call.method == "PUT" and call.name != "s3.CopyObject"
    downloads = call.method == "GET" and status == 200
    query = dict(part.split("=", 1) for part in call.query.split("&")) if call.query else {}
    if signs_in:
        query |= {"WebIdentityToken": "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"} if "Web" in call.name else {}
    credential = f"{caller.access_key}/20251128/{words.REGION}/s3/aws4_request"
    headers = {"X-Amz-Date": "20251128T101500Z", "Content-Length": _slot("length") if uploads else ""}
    if caller.access_key and rng.random() < 0.06:  # presigned
        query |= {
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Credential": credential,
            "X-Amz-Signature": _slot("sig"),
        }
    elif caller.access_key:
        signed = "host;x-amz-date"
        headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={signed}, Signature={_slot('sig')}"
        )
    host = rng.choice(words.SOURCE_HOSTS)
    if rng.random() < 0.05:
        headers["X-Forwarded-For"] = rng.choice(words.FORWARDED_FOR)
        # a server that trusts the header logs the client's address, another one the proxy's
        host = headers["X-Forwarded-For"].partition(",")[0] if rng.random() < 0.5 else words.PROXY_HOST
    timings = rng.random() < 0.3  # fields of servers since v4.3.13
    return {
        "httpStatusCode": status,
        "rx": _slot("rx") if uploads else 0,
        "tx": _slot("tx") if downloads else 0,
        "txHeaders": rng.randrange(180, 420),
        "timeToFirstByte": _slot("ttfb") if downloads else "",
        "requestReadTime": _slot("read") if timings else "",
        "responseWriteTime": _slot("write") if timings else "",
        "requestTime": _slot("request") if timings else "",
        "timeToResponse": _slot("response"),
        "sourceHost": host,
        "requestID": _slot("id"),
        "userAgent": words.CONSOLE_AGENT if signs_in and rng.random() < 0.5 else rng.choice(words.USER_AGENTS),
        "requestPath": f"/{bucket}/{obj}".rstrip("/") or "/",
        "requestHost": words.HOST,
        "requestClaims": caller.claims,
        "requestQuery": query,
        "requestHeader": headers,
        "responseHeader": {
            "Content-Type": "application/xml" if call.type == "bucket" else "",
            "X-Amz-Request-Id": _slot("id"),
            **_error_headers(call, status),
        },
        "accessKey": caller.access_key,
        "parentUser": caller.parent,
    }


@dataclass(frozen=True)
class _Caller:
    access_key: str
    parent: str
    claims: dict[str, object]


def _caller(rng: random.Random) -> _Caller:
    """Choose the caller: a user, a service account, or one of the sessions."""
    if rng.random() < 0.08:
        session = rng.choice(words.SESSIONS)
        return _Caller(session.access_key, session.parent, {**session.claims, "exp": _slot("exp")})
    access_key, parent = rng.choice(words.USERS)
    account: dict[str, object] = {"accessKey": access_key, "parent": parent, "sa-policy": "inherited-policy"}
    return _Caller(access_key, parent, account if parent and rng.random() < 0.5 else {})


def _sign_in(call: words.Call, status: int, rng: random.Random) -> _Caller:
    """Choose the caller that makes a session: a user, or nobody known yet; the claims are the new session's."""
    session = rng.choice([session for session in words.SESSIONS if f"sts.{session.api}" == call.name])
    claims = {**session.claims, "exp": _slot("exp")} if status == call.success else {}
    return _Caller("" if session.token else session.parent, "", claims)


def _error_headers(call: words.Call, status: int) -> dict[str, str]:
    """A response without a body tells its error in headers."""
    code, text = words.HEAD_ERRORS.get(status, ("", ""))
    return {"X-Minio-Error-Code": code, "X-Minio-Error-Desc": text} if call.method == "HEAD" else {}


def _error(rng: random.Random) -> tuple[str, dict[str, object]]:
    api_name, message, source = rng.choice(words.ERRORS)
    bucket = rng.choice(words.BUCKETS)
    record: dict[str, object] = {
        "version": "1",
        "node": rng.choice(words.NODES),
        "time": _slot("time"),
        "message": f"{message} ({_slot('id')})" if rng.random() < 0.5 else message,
        "apiName": api_name,
        "trace": {
            "source": [source, "cmd/generic-handlers.go:311:cmd.guessIsRPCReq()", "net/http/server.go:2220"],
            "variables": {"bucket": bucket, "object": rng.choice(words.OBJECTS).format(n=rng.randrange(1000))},
        },
    }
    if rng.random() < 0.7:
        record["tags"] = {"bucket": bucket, "requestID": _slot("id")}
    return api_name or "(internal)", record


def _audit(category: str, number: int, rng: random.Random) -> tuple[str, dict[str, object]]:
    arm = rng.choice(words.ARMS[category])
    access_key, parent = rng.choice(words.USERS)
    action = words.ACTIONS[number % len(words.ACTIONS)]
    record: dict[str, object] = {
        "version": "1",
        "time": _slot("time"),
        "node": rng.choice(words.NODES),
        "apiName": f"admin.{arm[0].upper()}{arm[1:]}",
        "category": category,
        "bucket": words.DETAILS[arm].get("bucketName", ""),
        "tags": {"source": "mc"} if rng.random() < 0.2 else {},
        "requestID": _slot("id"),
        "requestClaims": {"accessKey": access_key, "sub": "ops"} if parent else {},
        "sourceHost": rng.choice(words.SOURCE_HOSTS),
        "accessKey": access_key,
        "parentUser": parent,
    }
    details = {arm: words.DETAILS[arm]}
    form = number % 3
    if form == 0:  # servers up to v4.7.2: an object
        record |= {"action": action, "details": details}
    elif form == 1:  # others: JSON text
        record |= {"action": action, "details": go_json(details)}
    else:  # servers since v4.7.3
        before = dict(list(words.DETAILS[arm].items())[:-1])
        diff = {"old": go_json(before), "new": go_json(words.DETAILS[arm])}
        record |= {"message": f"{access_key}: {action} {category}", "metadata": {"diff": diff, "attempt": 1}}
    return category, omit_empty(record)
