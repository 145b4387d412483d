"""Audit records as MinIO's community server writes them, and AIStor's legacy target."""

import itertools
import random
from collections.abc import Callable, Mapping

from frazil.minio.generators import vocabulary as words

_Record = dict[str, object]
_DEPLOYMENT = "00000000-0000-4000-8000-000000000001"
_DAY = "20251128"


class CommunityAudit:
    """Makes audit entries in turn, so that a long enough run has every kind of call and both generations."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        makers: tuple[Callable[[], _Record], ...] = (
            self._upload,
            self._multi_delete,
            self._upload_of_2020,
            self._refused,
            self._sign_in,
            self._failed_sign_in,
            self._new_user,
            self._expiry,
        )
        self._turns = itertools.cycle(makers)

    def make(self, time: str) -> _Record:
        """An entry of that time (RFC 3339)."""
        return {"version": "1", "deploymentid": _DEPLOYMENT, "time": time, **next(self._turns)()}

    def _request(
        self, api: _Record, access_key: str = "", path: str = "", query: Mapping[str, str] | None = None
    ) -> _Record:
        """Make fields of every request of a client; sizes and durations as current servers write them."""
        nanos = self._rng.randrange(80_000, 400_000_000)
        call: _Record = {"rx": 0, "tx": -1, **api, "timeToResponse": f"{nanos}ns", "timeToResponseInNS": str(nanos)}
        request: _Record = {
            "event": "",
            "trigger": "incoming",
            "api": call,
            "remotehost": self._rng.choice(words.SOURCE_HOSTS),
            "requestID": f"{self._rng.getrandbits(64):016X}",
            "userAgent": self._rng.choice(words.USER_AGENTS),
            "requestPath": path or "/".join(["", *(str(call[part]) for part in ("bucket", "object") if part in call)]),
            "requestHost": words.HOST,
            "requestNode": self._rng.choice(words.NODES),
        }
        if query:
            request["requestQuery"] = query
        if access_key:
            request["accessKey"] = access_key
            credential = f"{access_key}/{_DAY}/{words.REGION}/s3/aws4_request"
            request["requestHeader"] = {"Authorization": f"AWS4-HMAC-SHA256 Credential={credential}, Signature=0"}
        return request

    def _users_request(self, api: _Record, query: Mapping[str, str] | None = None) -> _Record:
        access_key, parent = self._rng.choice(words.USERS)
        made = self._request(api, access_key, query=query)
        return made | {"parentUser": parent} if parent else made

    def _upload(self) -> _Record:
        call: _Record = {"name": "PutObject", "bucket": self._rng.choice(words.BUCKETS), "object": "hosts"}
        made = self._users_request(call | {"status": "OK", "statusCode": 200, "rx": 401})
        location = {"name": "hosts", "poolId": 1, "setId": 1, "drives": ["/mnt/data1", "/mnt/data2"]}
        return made | {"tags": {"objectLocation": location}}

    def _upload_of_2020(self) -> _Record:
        """Omit event, trigger, sizes and access key; the duration has another unit."""
        call = {"name": "PutObject", "bucket": self._rng.choice(words.BUCKETS), "object": "hosts"}
        return {
            "api": call | {"status": "OK", "statusCode": 200, "timeToResponse": "207.14946ms"},
            "remotehost": self._rng.choice(words.SOURCE_HOSTS),
            "requestID": f"{self._rng.getrandbits(64):016X}",
            "userAgent": self._rng.choice(words.USER_AGENTS),
        }

    def _multi_delete(self) -> _Record:
        objects = [{"objectName": f"raw/part-{n:05d}.parquet"} for n in range(self._rng.randrange(1, 5))]
        objects[0]["versionId"] = words.VERSION_ID
        call = {"name": "DeleteMultipleObjects", "bucket": self._rng.choice(words.BUCKETS), "objects": objects}
        return self._users_request(call | {"status": "OK", "statusCode": 200}, {"delete": ""})

    def _refused(self) -> _Record:
        session = self._rng.choice(words.SESSIONS)
        call = {"name": "GetObject", "bucket": self._rng.choice(words.BUCKETS), "object": "secret/plan.pdf"}
        return {
            **self._request(call | {"status": "Forbidden", "statusCode": 403}, session.access_key),
            "parentUser": session.parent,
            "requestClaims": {**session.claims, "exp": 1764328500},
            "error": "Access Denied.",
        }

    def _sign_in(self) -> _Record:
        session = self._rng.choice(words.SESSIONS)
        call = {"name": session.api, "status": "OK", "statusCode": 200}
        made = self._request(call, "" if session.token else session.parent, "/")
        return made | {"requestClaims": {**session.claims, "exp": 1764328500}}

    def _failed_sign_in(self) -> _Record:
        call = {"name": "AssumeRoleWithLDAPIdentity", "status": "Bad Request", "statusCode": 400}
        query = {"Action": "AssumeRoleWithLDAPIdentity", "LDAPUsername": "mallory", "Version": "2011-06-15"}
        return self._request(call, path="/", query=query) | {"error": "LDAP authentication failed"}

    def _new_user(self) -> _Record:
        path = "/minio/admin/v3/add-user"
        call = {"name": "AddUser", "status": "OK", "statusCode": 200}
        return self._request(call, "minioadmin", path, {"accessKey": "app-reader"})

    def _expiry(self) -> _Record:
        """Make the record of a lifecycle rule: no request, so no address, id or user."""
        call = {"name": "ILMExpiry", "bucket": "logs-archive", "object": "2024/old.log", "rx": 0, "tx": 0}
        return {"event": "ilm:expiry", "trigger": "ilm", "api": call}
