from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.convert.strict import ConversionError, StageError
from frazil.pipeline.transforms.classes.debezium import DEBEZIUM
from frazil.pipeline.transforms.plugin import ALL, IDS, OPERATIONS, TRUNCATES
from frazil.pipeline.transforms.record import UNNAMED, DataError, Record, encode, members
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


PARTS: dict[str, list[bytes]] = {
    "op": [b'"u"', b'"d"', b'"c"', b'"r"', b'"t"', b'"\\u0075"', b'""', b"null", b"5", b'{"u":1}'],
    "ts_ms": [b"1", b"null", b'"x"', b"1.50", b' {"a" : 1}'],
    "before": [b'{"id":1,"b":1.50}', b'{"id":2}', b"null", b"{}", b"[]", b'"x"', b'{"id":1,"id":3}', b'{"_cdc":1}'],
    "after": [b'{"id":1,"b":1.5}', b'{"id":2,"c":"\xc3\xa9"}', b"{ }", b"null", b"7", b'{"id" : 1, "_cdc":{"op":"D"}}'],
    "source": [b'{"db":"d","table":"t"}', b'{"db":"d","schema":"s","table":"t","connector":"postgresql"}',
               b'{"db":"","table":"\xc3\xa9"}', b"{}",
               b'{"db":null,"schema":"s","table":"t","connector":null}', b'{"schema":null,"db":"d","table":"t"}',
               b'{"db":1,"table":"t"}', b'{"db":"d","table":null}', b"null", b"[1]",
               b'{"db":"d","table":"t","db":"e"}', b'{"db":"d","table":"t","connector":7}'],
    "more": [b"1"],
}  # fmt: skip
PAIRS = [b'"%s":%s' % (name.encode(), text) for name, texts in PARTS.items() for text in texts]
WHOLE = [b"null", b"[]", b"", b"{", b'{"op":"c","\xff":1}', b'{"op":"\\ud800"}']
EVENTS = st.fixed_dictionaries({name: st.sampled_from(texts) for name, texts in PARTS.items()})
OPTIONS: list[dict[str, Any]] = [
    {},
    {OPERATIONS: True, IDS: ("id",)},
    {OPERATIONS: True, ALL: True, TRUNCATES: True},
]


def written(event: Mapping[str, bytes]) -> bytes:
    return b"{" + b", ".join(b'"%s":%s' % (name.encode(), text) for name, text in event.items()) + b"}"


def changed(value: bytes, key: bytes | None, options: dict[str, Any], *, is_open: bool) -> Any:
    record = Record()
    record.value, record.key, record.offset, record.others, record.headers = value, key, 42, [], []
    record.typed, record.value_schema, record.key_schema = False, UNNAMED, UNNAMED
    assert DEBEZIUM.build is not None
    try:
        members(record, "key")
        if is_open:
            members(record, "value")
        left = DEBEZIUM.build(options, "value")(record)
    except (ConversionError, DataError, msgspec.MsgspecError) as error:
        return type(error), str(error)
    values = [one.value for one in (*record.others, record)] if left is None else []
    return left, [encode(one) if isinstance(one, dict) else one for one in values]


@given(
    st.one_of(
        EVENTS.map(written),
        st.lists(st.sampled_from(PAIRS)).map(lambda pairs: b"{" + b",".join(pairs) + b"}"),
        st.sampled_from(WHOLE),
    ),
    st.sampled_from([None, b'{"id":1}']),
    st.sampled_from(OPTIONS),
)
def test_a_record_that_nobody_has_opened_is_changed_as_one_that_is_open(
    value: bytes, key: bytes | None, options: dict[str, Any]
) -> None:
    assert changed(value, key, options, is_open=False) == changed(value, key, options, is_open=True)


@pytest.mark.parametrize("options", OPTIONS, ids=["append", "keys", "all"])
def test_events_as_debezium_writes_them_are_changed_alike_with_one_look_and_with_many(options: dict[str, Any]) -> None:
    for texts in product(*(each[:3] for each in PARTS.values())):
        value = written(dict(zip(PARTS, texts, strict=True)))
        assert changed(value, b'{"id":1}', options, is_open=False) == changed(value, b'{"id":1}', options, is_open=True)
