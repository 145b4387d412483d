"""Odd records: what real topics carry besides well-formed log records, for trying a sink out."""

import itertools
import json
import random
from collections.abc import Callable

from frazil.minio.generators import vocabulary as words
from frazil.minio.generators.community import CommunityAudit
from frazil.minio.generators.templates import go_json
from frazil.minio.records.kinds import TableKind

ODD_LABEL = "odd: "

_Record = dict[str, object]

_WRONG_TYPES: dict[TableKind, _Record] = {
    "api": {"callInfo": "none"},
    "error": {"trace": 42},
    "audit": {"requestClaims": ["sub", "exp"]},
}
_OVERFLOWS: dict[TableKind, _Record] = {
    "api": {"callInfo": {"httpStatusCode": 2_147_483_648, "rx": 9_223_372_036_854_775_808}},
    "error": {"time": "+300000-01-01T00:00:00Z"},
    "audit": {"time": "+300000-01-01T00:00:00Z"},
}
_NEW_FIELDS: _Record = {"region": "eu-1", "retries": 3, "tls": {"version": "1.3", "resumed": True}}
_NON_OBJECTS = (b"[1,2,3]", b'"just text"', b"42", b"null", b"true")


class OddRecords:
    """Makes odd records of one kind in turn, so that a long enough run has all of them."""

    def __init__(self, kind: TableKind, rng: random.Random) -> None:
        self._kind = kind
        self._rng = rng
        self._community = CommunityAudit(rng)
        makers: dict[str, Callable[[bytes], bytes]] = {
            "malformed JSON": self._malformed,
            "missing time": lambda record: self._changed(record, without="time"),
            "null time": lambda record: self._changed(record, {"time": None}),
            "wrong type": lambda record: self._changed(record, _WRONG_TYPES[kind]),
            "overflow": lambda record: self._changed(record, _OVERFLOWS[kind]),
            "invalid UTF-8": lambda record: record.replace(b'"node":"', b'"node":"\xff\xfe', 1),
            "empty value": lambda record: b"",
            "not an object": lambda record: self._rng.choice(_NON_OBJECTS),
            "new fields": lambda record: self._changed(record, _NEW_FIELDS),
            "legacy record": self._legacy,
        }
        self._turns = itertools.cycle(makers.items())

    def make(self, record: bytes) -> tuple[str, bytes]:
        """A label such as `odd: null time` and an odd record made from an ordinary one."""
        name, maker = next(self._turns)
        return f"{ODD_LABEL}{name}", maker(record)

    def _malformed(self, record: bytes) -> bytes:
        return record[: -self._rng.randrange(1, len(record))]

    def _changed(self, record: bytes, changes: _Record | None = None, without: str = "") -> bytes:
        fields: _Record = json.loads(record)
        fields.pop(without, None)
        return go_json(fields | (changes or {})).encode()

    def _legacy(self, record: bytes) -> bytes:
        time = json.loads(record)["time"]
        return go_json(self._server_log(time) if self._kind == "error" else self._community.make(time)).encode()

    def _server_log(self, time: str) -> _Record:
        """A server log entry."""
        return {
            "deploymentid": "00000000-0000-4000-8000-000000000001",
            "level": self._rng.choice(("FATAL", "WARNING", "ERROR", "EVENT", "INFO")),
            "time": time,
            "api": {"name": "SYSTEM.iam", "args": {"bucket": self._rng.choice(words.BUCKETS)}},
            "error": {
                "message": "Enabling this is not recommended (*errors.errorString)",
                "source": ["internal/logger/logger.go:271:logger.LogIf()"],
                "variables": {"attempt": 3},
            },
        }
