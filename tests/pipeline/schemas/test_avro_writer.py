from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.schemas.avro import parse_avro
from frazil.pipeline.schemas.avro_reader import avro_reader
from frazil.pipeline.schemas.avro_writer import avro_writer
from tests.pipeline.schemas.java_avro import as_json
from tests.pipeline.schemas.test_avro_reader import NESTED

TYPE = parse_avro(json.dumps(NESTED))
TEXTS = st.text(max_size=5)
BASE64 = st.binary(max_size=5).map(lambda data: as_json(data))
FIXED = st.binary(min_size=5, max_size=5).map(lambda data: as_json(data))
LONGS = st.integers(-(2**63), 2**63 - 1)
UNION = ("int", "string", "Hash", "array")


def one_of(values: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    chosen = [value.map(lambda found, name=name: {name: found}) for name, value in values.items()]  # type: ignore[misc]
    return st.none() | st.one_of(chosen).map(lambda found: {**dict.fromkeys(UNION), **found})


LINES = st.fixed_dictionaries(
    {
        "sku": TEXTS,
        "any": one_of(
            {"int": st.integers(-5, 5), "string": TEXTS, "Hash": FIXED, "array": st.lists(LONGS, max_size=3)}
        ),
    }
)
ORDERS = st.fixed_dictionaries(
    {
        "id": LONGS,
        "count": st.integers(-(2**31), 2**31 - 1),
        "paid": st.booleans(),
        "weight": st.sampled_from([0.5, -1.25, "NaN", "Infinity"]),
        "price": st.floats(allow_nan=False, allow_infinity=False),
        "note": st.none() | TEXTS,
        "raw": BASE64,
        "hash": FIXED,
        "state": st.sampled_from(["NEW", "PAID"]),
        "before": st.none() | st.just("PAID"),
        "tags": st.lists(TEXTS, max_size=3),
        "lines": st.lists(LINES, max_size=2),
        "attributes": st.dictionaries(TEXTS, st.none() | LINES, max_size=2),
        "nothing": st.none(),
    }
)


@given(ORDERS)
def test_what_is_written_is_read_again(order: dict[str, Any]) -> None:
    data = avro_writer(TYPE)(msgspec.json.encode(order))
    assert as_json(avro_reader(TYPE)(data, 0)) == order


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
RECORD = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "d", "type": ["null", DECIMAL]},
        {"name": "n", "type": "int", "default": 7},
        {"name": "l", "type": {"type": "array", "items": "int"}, "default": []},
        {"name": "f", "type": ["null", "double"], "default": None},
    ],
}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"{}", b"\0\x0e\0\0"),
        (b'{"d":1.5}', b"\2\4\0\x96\x0e\0\0"),
        (b'{"d":9999999.99}', b"\2\x08\x3b\x9a\xc9\xff\x0e\0\0"),
        (b'{"d":0e999999999}', b"\2\2\0\x0e\0\0"),
        (b'{"d":-1,"n":0}', b"\2\2\x9c\0\0\0"),
        (b'{"d":"AJY=","l":[1,2]}', b"\2\4\0\x96\x0e\4\2\4\0\0"),
    ],
)
def test_numbers_are_decimals_and_what_is_absent_has_its_default(line: bytes, expected: bytes) -> None:
    assert avro_writer(parse_avro(json.dumps(RECORD)))(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "it is not JSON"),
        (b"[]", r"expected an object, got \[\]"),
        (b'{"d":1.555}', "column d: the number has more than 2 digits"),
        (b'{"d":12345678.90}', "column d: the number has more digits than its precision, 9"),
        (b'{"d":1e999999999}', "column d: the number has more digits than its precision, 9"),
        (b'{"d":"O5rKAA=="}', "column d: the number has more digits than its precision, 9"),
        (b'{"f":1e400}', "column f: the number is out of range"),
        (b'{"f":-1e400}', "column f: the number is out of range"),
        (b'{"n":"1"}', 'column n: expected a whole number, got "1"'),
        (b'{"n":4294967296}', "column n: the number is out of range"),
        (b'{"n":true}', "column n: the number is out of range"),
        (b'{"l":[1,null]}', r"column l\[1\]: expected a whole number, got null"),
        (b'{"x":1}', "x is not in its schema"),
    ],
)
def test_values_that_do_not_fit_say_where(line: bytes, reason: str) -> None:
    with pytest.raises(ConversionError, match=reason):
        avro_writer(parse_avro(json.dumps(RECORD)))(line)
