from __future__ import annotations

from typing import Any

import msgspec
import pytest

from frazil.pipeline.convert.strict import StageError
from tests.pipeline.transforms.chains import ICEBERG, TABULAR, Step, after, applied, chain, parsed, text

JSON_KEYS = {
    "key__converter": "org.apache.kafka.connect.json.JsonConverter",
    "key__converter__schemas__enable": "false",
}
EVENT: dict[str, Any] = {
    "op": "u",
    "ts_ms": 1700000000123,
    "source": {"db": "db", "schema": "schema", "table": "tbl"},
    "before": {"account_id": 1},
    "after": {"account_id": 2, "balance": 100},
}


def change(**members: Any) -> bytes:
    return msgspec.json.encode(EVENT | members)


@pytest.mark.parametrize("package", [ICEBERG, TABULAR])
def test_the_row_is_at_the_top_and_the_change_in_cdc(package: str) -> None:
    step = (package + "DebeziumTransform", {"cdc.target.pattern": "{db}_x.{table}_x"})

    made = applied(chain(step, **JSON_KEYS), change(), key=b'{"account_id": 1}')

    assert made is not None
    assert parsed(text(made.value)) == {
        "account_id": 2,
        "balance": 100,
        "_cdc": {
            "op": "U",
            "ts": 1700000000123,
            "offset": 42,
            "source": "schema.tbl",
            "target": "schema_x.tbl_x",
            "key": {"account_id": 1},
        },
    }
    assert text(made.key) == b'{"account_id":1}'


@pytest.mark.parametrize(
    ("operation", "expected", "row"), [("c", "I", 2), ("r", "I", 2), ("u", "U", 2), ("d", "D", 1), ("x", "I", 2)]
)
def test_operations(operation: str, expected: str, row: int) -> None:
    found = parsed(after((ICEBERG + "DebeziumTransform", {}), change(op=operation, source={"db": "d", "table": "t"})))

    assert (found["account_id"], found["_cdc"]["op"]) == (row, expected)
    assert (found["_cdc"]["source"], found["_cdc"]["target"]) == ("d.t", "d.t")
    assert "key" not in found["_cdc"]


def test_it_drops_an_event_without_its_row_and_keeps_tombstones() -> None:
    step: Step = (ICEBERG + "DebeziumTransform", {})

    assert applied(chain(step), change(after=None)) is None
    assert applied(chain(step), change(op="d", before=None)) is None
    assert after(step, None) is None


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"op": None}, "op is missing"),
        ({"source": None}, "source is missing"),
        ({"source": {"db": "d"}}, "source.table is missing"),
        ({"source": {"table": "t"}}, "source.schema or source.db is missing"),
    ],
)
def test_events_that_are_none(members: dict[str, Any], reason: str) -> None:
    with pytest.raises(StageError, match=reason):
        after((ICEBERG + "DebeziumTransform", {}), change(**members))


def test_a_key_that_cannot_be_read_is_an_error_of_its_own() -> None:
    with pytest.raises(StageError, match="key: the value is not JSON") as error:
        applied(chain((ICEBERG + "DebeziumTransform", {}), **JSON_KEYS), change(), key=b"{")
    assert error.value.origin == ("KEY_CONVERTER", "org.apache.kafka.connect.json.JsonConverter")
