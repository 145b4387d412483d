from __future__ import annotations

import math
import struct
import time
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.convert.decode import DecodeSpec, RecordDecoder
from frazil.pipeline.convert.legacy_scalars import converter
from frazil.pipeline.types import Field, List, Scalar, Struct
from tests.pipeline.convert import oracle


@pytest.mark.parametrize(
    ("type_", "raw", "value"),
    [
        (Scalar("int"), "123.0", 123),
        (Scalar("int"), "3.7", 3),
        (Scalar("int"), "-3.7", -3),
        (Scalar("int"), "3000000000", -1294967296),
        (Scalar("int"), "3e9", 2147483647),
        (Scalar("long"), "9223372036854775808", -9223372036854775808),
        (Scalar("long"), "18446744073709551617", 1),
        (Scalar("long"), "1e20", 9223372036854775807),
        (Scalar("double"), "18446744073709551617", 1.0),
        (Scalar("double"), "1.5", 1.5),
        (Scalar("decimal", 38, 0), "1e20", "9223372036854775807"),
        (Scalar("decimal", 10, 2), "123.45", "123.45"),
        *[(Scalar("long"), f'"{text}"', 501) for text in ("501", "00501", "+501")],
        *[(Scalar("double"), f'"{text}"', 1.5) for text in (" 1.5 ", "1.5d", "1.5F", "15e-1", "+1.5", "1.50")],
        (Scalar("double"), '"-Infinity"', -math.inf),
        (Scalar("float"), "16777217", 16777216.0),
        (Scalar("float"), "3.141592653589793", 3.1415927410125732),
        (Scalar("double"), "9007199254740993", 9007199254740992.0),
        (Scalar("decimal", 9, 2), '"12.345"', "12.35"),
        (Scalar("decimal", 9, 2), '"-0.005"', "-0.01"),
        (Scalar("decimal", 9, 2), '"1E+2"', "100.00"),
        (Scalar("decimal", 4, 1), "12.25", "12.3"),
        (Scalar("boolean"), '"TRUE"', True),
        (Scalar("boolean"), '"yes"', False),
        (Scalar("boolean"), '""', False),
        (Scalar("string"), "5", "5"),
        (Scalar("string"), "true", "true"),
        (Scalar("string"), "1e10", "1.0E10"),
        (Scalar("string"), "1.50", "1.5"),
        (Scalar("string"), "-0.00012", "-1.2E-4"),
        (Scalar("string"), "1234567.0", "1234567.0"),
        (Scalar("string"), "12345678.5", "1.23456785E7"),
        (Scalar("string"), "0.0", "0.0"),
        (Scalar("string"), "18446744073709551617", "1"),
        (Scalar("string"), '{"a": 1.50}', '{"a": 1.50}'),
    ],
)
def test_values_are_bent(type_: Scalar, raw: str, value: Any) -> None:
    found = converter(type_)(raw.encode())
    assert (str(found) if type_.kind == "decimal" else found) == value


@pytest.mark.parametrize(
    ("kind", "raw"),
    [("int", '"123.0"'), ("int", '" 12"'), ("int", '""'), ("int", "true"), ("boolean", "1"), ("double", "true")],
)
def test_what_kafka_connect_refuses_is_refused(kind: Any, raw: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        converter(Scalar(kind))(raw.encode())


@pytest.mark.parametrize("text", ["-0", "-0.0", "-0e0", '"-0"'])
@pytest.mark.parametrize("odd", ["1", '" 1"'], ids=["at once", "one by one"])
def test_a_number_is_no_minus_zero_as_in_kafka_connect_and_a_text_may_be_one(text: str, odd: str) -> None:
    kinds: tuple[Any, ...] = (Scalar("float"), Scalar("double"), List(Scalar("double")))
    columns = Struct((*(Field(f"f{i}", kind) for i, kind in enumerate(kinds)), Field("odd", Scalar("double"))))
    record = f'{{"f0":{text},"f1":{text},"f2":[{text}],"odd":{odd}}}'.encode()
    (row,) = RecordDecoder(DecodeSpec(columns, False, legacy=True)).decode([record]).table.to_pylist()
    zero = -0.0 if text[0] == '"' else 0.0
    assert oracle.same(row, {"f0": zero, "f1": zero, "f2": [zero], "odd": 1.0})


def test_records_are_bent_only_when_asked_for() -> None:
    columns = Struct((Field("i", Scalar("int")), Field("b", Scalar("boolean"))))
    record = b'{"i":3000000000,"b":"yes"}'
    assert RecordDecoder(DecodeSpec(columns, False, legacy=True)).decode([record]).table.to_pylist() == [
        {"i": -1294967296, "b": False}
    ]
    assert RecordDecoder(DecodeSpec(columns, False)).decode([record]).rejected


def test_nan_is_a_double_text() -> None:
    assert math.isnan(converter(Scalar("double"))(b'"NaN"'))


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("digits", ["1" * 4000, "98765432109876543210" * 200, "9" * 2_000_000])
def test_a_whole_number_of_any_length_wraps_in_bounded_time(digits: str, sign: str) -> None:
    started = time.process_time()
    found = converter(Scalar("long"))((sign + digits).encode())
    assert time.process_time() - started < 0.5
    assert -(1 << 63) <= found < 1 << 63
    if len(digits) <= 4000:
        assert (found - int(sign + digits)) % (1 << 64) == 0


def convert(text: str) -> Any:
    return converter(Scalar("float"))(text.encode())


@pytest.mark.parametrize("raw", ["3.4028235e38", "-3.4028235E38", '"3.4028235677973e38"'])
def test_a_text_that_rounds_to_the_largest_float_is_one(raw: str) -> None:
    value = convert(raw)
    assert oracle.float32(raw.strip('"')) == math.copysign(3.4028234663852886e38, value)
    assert oracle.float32(str(Decimal(value))) == math.copysign(3.4028234663852886e38, value)


@given(st.integers(0x20000000, 0x60000000), st.sampled_from([-1, 0, 1]), st.integers(18, 40), st.booleans())
def test_a_float_is_rounded_once(bits: int, side: int, digits: int, negative: bool) -> None:
    """Just beside the middle between two 32-bit floats, rounding to a double first would give the wrong one."""
    low, high = (Decimal(struct.unpack("<f", struct.pack("<I", pattern))[0]) for pattern in (bits, bits + 1))
    with localcontext(prec=200):
        text = f"{'-' if negative else ''}{(low + high) / 2 * (1 + side * Decimal(10) ** -digits)}"
    (stored,) = struct.unpack("<f", struct.pack("<f", convert(text)))
    assert stored == oracle.float32(text)
