from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from frazil.minio.generators.generate import records
from frazil.minio.generators.odd import OddRecords
from frazil.minio.records.kinds import TableKind
from frazil.minio.records.legacy import classify
from frazil.minio.records.tables import SCHEMAS


def no_json(record: bytes) -> bool:
    try:
        json.loads(record)
    except ValueError:
        return True
    return False


CHECKS: dict[str, Callable[[bytes], bool]] = {
    "odd: malformed JSON": lambda record: len(record) > 0 and no_json(record),
    "odd: missing time": lambda record: "time" not in json.loads(record),
    "odd: null time": lambda record: json.loads(record)["time"] is None,
    "odd: wrong type": lambda record: any(
        isinstance(json.loads(record).get(name), str | int | list) for name in ("callInfo", "trace", "requestClaims")
    ),
    "odd: overflow": lambda record: b"9223372036854775808" in record or b"+300000-" in record,
    "odd: invalid UTF-8": lambda record: record.decode(errors="ignore").encode() != record,
    "odd: empty value": lambda record: record == b"",
    "odd: not an object": lambda record: not isinstance(json.loads(record), dict),
    "odd: new fields": lambda record: "region" in json.loads(record),
    "odd: legacy record": lambda record: classify(json.loads(record)) in ("legacy_audit", "server_log"),
}


@pytest.mark.parametrize("kind", ["api", "error", "audit"])
def test_each_oddity_is_what_it_says(kind: TableKind) -> None:
    odd = OddRecords(kind, random.Random(1))
    seen: dict[str, bytes] = {}
    for record in records(kind, 60, seed=1):
        label, made = odd.make(record)
        assert CHECKS[label](made), (label, made)
        seen[label] = made
    assert set(seen) == set(CHECKS)


@pytest.mark.parametrize("kind", ["api", "error", "audit"])
def test_new_fields_are_no_columns_yet(kind: TableKind) -> None:
    odd = OddRecords(kind, random.Random(1))
    made = dict(odd.make(record) for record in records(kind, 10, seed=1))["odd: new fields"]
    assert set(json.loads(made)) - set(SCHEMAS[kind].column_names) == {"region", "retries", "tls"}
