from __future__ import annotations

from typing import Any

import pytest

from frazil.pipeline.convert.decode import DecodeSpec, RecordDecoder
from frazil.pipeline.convert.legacy_scalars import converter
from frazil.pipeline.types import Field, Scalar, Struct


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


def test_records_are_bent_only_when_asked_for() -> None:
    columns = Struct((Field("i", Scalar("int")), Field("b", Scalar("boolean"))))
    record = b'{"i":3000000000,"b":"yes"}'
    assert RecordDecoder(DecodeSpec(columns, False, legacy=True)).decode([record]).table.to_pylist() == [
        {"i": -1294967296, "b": False}
    ]
    assert RecordDecoder(DecodeSpec(columns, False)).decode([record]).rejected
