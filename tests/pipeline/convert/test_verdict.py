from __future__ import annotations

import msgspec
import pytest

from frazil.pipeline.convert import verdict
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, ScalarKind, Struct, Type

NOT_PLAIN = (msgspec.MsgspecError, ValueError, RecursionError)
POINT = Struct((Field("x", Scalar("int")), Field("y", STRING)))
DECIMAL = Scalar("decimal", precision=10, scale=2)


def is_plain(columns: Struct, record: bytes, *, forbid_unknown: bool = True) -> bool:
    try:
        verdict.decoder(columns, forbid_unknown=forbid_unknown)(record)
    except NOT_PLAIN:
        return False
    return True


def column(type_: Type | ScalarKind, raw: str, *, required: bool = False) -> bool:
    columns = Struct((Field("v", Scalar(type_) if isinstance(type_, str) else type_, required),))
    return is_plain(columns, f'{{"v":{raw}}}'.encode())


PLAIN: list[tuple[Type | ScalarKind, str]] = [
    *[("boolean", raw) for raw in ("true", "false", "null")],
    *[("int", raw) for raw in ("0", "-0", "2147483647", "-2147483648")],
    *[("long", raw) for raw in ("9223372036854775807", "-9223372036854775808")],
    *[("float", raw) for raw in ("1", "1.5", "3.4028234e38", "1e-50")],
    *[("double", raw) for raw in ("1", "1.5", "1e308", "-0.0", "1e-400")],
    *[("string", raw) for raw in ('""', '"é"', '"\\u0000\\ud83d\\ude00"')],
    ("date", '"2025-01-31"'),
    *[("timestamp", f'"2025-01-31T10:30:00{rest}"') for rest in ("", ".5", ".123456789")],
    *[("timestamptz", f'"2025-01-31T10:30:00.5{zone}"') for zone in ("Z", "z", "", "+00:00", "-0800")],
    (POINT, '{"x":1,"y":null}'),
    (List(POINT), '[{"x":1},null]'),
    (Map(STRING, STRING), '{"a":"b","c":null}'),
]
CARE: list[tuple[Type | ScalarKind, str]] = [
    *[("boolean", raw) for raw in ("1", '"true"')],
    *[("int", raw) for raw in ("1.5", "1.0", "1e3", '"5"', "2147483648", "-2147483649", "true")],
    *[
        ("long", raw)
        for raw in ("9223372036854775808", "-9223372036854775809", "1" + "0" * 5000, "18446744073709551616")
    ],
    *[("float", raw) for raw in ('"1.5"', "3.4028236e38", "-1e39")],
    *[("double", raw) for raw in ('"1.5"', "1e400", "-1e400", "1E999999999", "NaN")],
    *[("string", raw) for raw in ("1", "true", "{}", "[]", '"\\ud800"')],
    *[("date", raw) for raw in ("19676", '"2025-1-31"', '"2025-02-29"', '"2025-01-31T00:00:00"')],
    *[("timestamp", raw) for raw in ("1736937000000", '"2025-01-31T10:30:00Z"', '"2025-01-31T10:30:00+01:00"')],
    *[
        ("timestamptz", raw)
        for raw in ("1736937000000", '"2025-01-31"', '"2025-01-31T24:00:00Z"', '"2025-01-31T10:30:60Z"')
    ],
    *[(DECIMAL, raw) for raw in ("1.23", '"1.23"')],
    *[(Scalar(kind), '"AQID"') for kind in ("uuid", "fixed", "binary", "time", "timestamp_ns", "timestamptz_ns")],
    *[(POINT, raw) for raw in ("1", "[]", '{"x":"1"}', '{"x":1.5}', '{"z":1}')],
    *[(List(POINT), raw) for raw in ("{}", "[1]", '[{"z":1}]')],
    (List(STRING, element_required=True), "[null]"),
    *[(Map(STRING, STRING), raw) for raw in ('{"a":1}', "[]")],
    (Map(STRING, STRING, value_required=True), '{"a":null}'),
    (Map(Scalar("int"), STRING), '{"1":"a"}'),
]


@pytest.mark.parametrize(("type_", "raw"), PLAIN, ids=lambda value: str(value)[:40])
def test_plain(type_: Type | ScalarKind, raw: str) -> None:
    assert column(type_, raw)


@pytest.mark.parametrize(("type_", "raw"), CARE, ids=lambda value: str(value)[:40])
def test_needs_care(type_: Type | ScalarKind, raw: str) -> None:
    assert not column(type_, raw)


@pytest.mark.parametrize(
    "type_", [DECIMAL, Scalar("uuid"), Scalar("fixed", length=3), Scalar("time"), Map(Scalar("int"), STRING)], ids=str
)
def test_a_column_that_is_never_plain_leaves_records_without_it_plain(type_: Type) -> None:
    assert column(type_, "null")
    assert is_plain(Struct((Field("v", type_), Field("n", Scalar("int")))), b'{"n":1}')


@pytest.mark.parametrize("raw", ["null", ""])
def test_a_required_column_must_be_there(raw: str) -> None:
    columns = Struct((Field("v", STRING, required=True),))
    assert not is_plain(columns, b'{"v":null}' if raw else b"{}")
    assert is_plain(columns, b'{"v":"x"}')


@pytest.mark.parametrize(
    "record", [b'{"z":1}', b'{"V":1}', b'{"p":{"z":1}}', b'{"l":[{"z":1}]}', b'{"m":{"k":{"z":1}}}']
)
def test_unknown_fields_need_care_where_asked(record: bytes) -> None:
    columns = Struct(
        (Field("v", Scalar("int")), Field("p", POINT), Field("l", List(POINT)), Field("m", Map(STRING, POINT)))
    )
    assert not is_plain(columns, record)
    assert is_plain(columns, record, forbid_unknown=False)


@pytest.mark.parametrize(
    "record",
    [b"", b" ", b"null", b"[]", b"5", b'"x"', b"\xef\xbb\xbf{}", b"{}{}", b"{} x", b"{}\0", b'{"v":"\xff"}', b"{'v':1}"]
    + [b'{"z":' * 200_000, b'{"z":' + b"[" * 200_000 + b"]" * 200_000 + b"}", b'{"z":tru}', b'{"z":"\\ud800"}'],
    ids=lambda record: str(record[:20]),
)
def test_what_is_not_one_object_needs_care(record: bytes) -> None:
    assert not is_plain(Struct((Field("v", STRING),)), record, forbid_unknown=False)


def test_every_one_of_two_equal_names_is_judged() -> None:
    columns = Struct((Field("v", Scalar("int")),))
    assert is_plain(columns, b'{"v":1,"v":2}')
    assert not is_plain(columns, b'{"v":"x","v":2}')


def test_markers_need_care_even_when_unknown_fields_are_allowed() -> None:
    judge = verdict.decoder(Struct((Field("v", STRING),)), forbid_unknown=False, markers=("v", "level"))
    judge(b'{"v":"a","z":1}')
    with pytest.raises(msgspec.ValidationError, match=r"\$.level"):
        judge(b'{"v":"a","level":"INFO"}')


def test_raw_columns_are_not_judged_but_returned() -> None:
    columns = Struct((Field("a", Scalar("int")), Field("v", STRING), Field("w", STRING)))
    judge = verdict.decoder(columns, forbid_unknown=True, raw=["v"])
    assert bytes(judge(b'{"a":1,"v":{"k" : [1.50]}}').c1) == b'{"k" : [1.50]}'
    assert judge(b'{"w":"x"}').c1 is None
    with pytest.raises(msgspec.ValidationError):
        judge(b'{"w":1}')


@pytest.mark.parametrize("name", ["", "a.b", "c0", "m0", "é", "$", "a`", "class", "a b"])
def test_column_names_of_any_kind(name: str) -> None:
    record = msgspec.json.encode({name: 1})
    assert is_plain(Struct((Field(name, Scalar("int")), Field("z", STRING))), record)
    assert not is_plain(Struct((Field(name, STRING), Field("z", STRING))), record)


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "\0"])
def test_a_name_that_cannot_be_expressed_leaves_no_record_plain(name: str) -> None:
    odd = Struct((Field(name, Scalar("int")), Field("z", STRING)))
    assert not is_plain(odd, b'{"z":"a"}')
    assert not is_plain(odd, b"null")
    outer = Struct((Field("odd", odd), Field("z", STRING)))
    assert is_plain(outer, b'{"z":"a"}')
    assert not is_plain(outer, b'{"odd":{"z":"a"}}')
