from __future__ import annotations

import msgspec
import pytest

from frazil.pipeline.convert.strict import StageError
from frazil.pipeline.schemas.connect import DATE, TIME, TIMESTAMP, ConnectSchema
from frazil.pipeline.transforms.chain import Transformer
from frazil.pipeline.transforms.record import Members, Raw
from frazil.pipeline.types import Scalar, Typed
from tests.pipeline.transforms.chains import after, applied, chain, record, text


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("int8", b"5.9", b"5"),
        ("int8", b"-5.9", b"-5"),
        ("int8", b'"+5"', b"5"),
        ("int8", b"true", b"1"),
        ("int8", b"null", b"null"),
        ("int64", b"9223372036854775807", b"9223372036854775807"),
        ("int64", b"9.223372036854775807e18", b"9223372036854775807"),
        ("boolean", b"0.5", b"false"),
        ("boolean", b"-2", b"true"),
        ("boolean", b'"TRUE"', b"true"),
        ("string", b"1.50", b'"1.50"'),
        ("string", b"123456789012345678901234567890", b'"123456789012345678901234567890"'),
        ("string", b"true", b'"true"'),
        ("string", b'"\\u00e9"', b'"\\u00e9"'),
        ("float32", b"0.1", b"0.1"),
        ("float32", b"16777217", b"16777216.0"),
        ("float64", b"9007199254740993", b"9007199254740992.0"),
        ("boolean", b"1e9999999", b"true"),
        ("boolean", b"0.9e-9999999", b"false"),
        ("int64", b"9.9e-9999999", b"0"),
        ("float32", b"61654726", b"61654728.0"),
        ("float32", b'" 1.5d "', b"1.5"),
        ("float64", b"5", b"5.0"),
        ("float64", b"0.12345678901234567890", b"0.12345678901234568"),
        ("float64", b'"NaN"', b'"NaN"'),
        ("float64", b"true", b"1.0"),
    ],
)
def test_a_value_of_another_type(type_: str, value: bytes, expected: bytes) -> None:
    assert after(("Cast$Value", {"spec": f"a:{type_}"}), b'{"a":%b}' % value) == b'{"a":%b}' % expected


@pytest.mark.parametrize(
    ("target", "type_", "expected"),
    [
        ("Timestamp", "int64", b"1700000000123"),
        ("Timestamp", "string", b'"2023-11-14T22:13:20.123Z"'),
        ("Timestamp", "boolean", b"true"),
        ("Date", "int32", b"19675"),
        ("Date", "string", b'"2023-11-14"'),
        ("Time", "float64", b"80000123.0"),
        ("Time", "string", b'"22:13:20.123Z"'),
    ],
)
def test_a_time_that_was_converted_before(target: str, type_: str, expected: bytes) -> None:
    made = chain(
        ("TimestampConverter$Value", {"field": "a", "target.type": target}), ("Cast$Value", {"spec": f"a:{type_}"})
    )
    found = applied(made, b'{"a":1700000000123}')
    assert found is not None and text(found.value) == b'{"a":%b}' % expected


@pytest.mark.parametrize(
    ("type_", "value", "reason"),
    [
        ("int8", b"300", "does not fit in 8 bits"),
        ("int8", b'"300"', "does not fit in 8 bits"),
        ("int64", b"9223372036854775808", "does not fit in 64 bits"),
        ("int64", b"1e30", "does not fit in 64 bits"),
        ("int64", b"1e999999999", "does not fit in 64 bits"),
        ("int32", b'"5.9"', "not an integer"),
        ("int32", b'" 5"', "not an integer"),
        ("float64", b"1e400", "out of range"),
        *[(type_, b"1e9999999999999999999", "exponent") for type_ in ("int8", "int64", "boolean")],
        ("float32", b"1e39", "out of range"),
        ("float32", b'"x"', "not a number"),
        ("boolean", b'"yes"', "neither true nor false"),
        ("string", b"[1]", "array cannot be cast"),
        ("int8", b"{}", "object cannot be cast"),
        ("string", b'{"x":1}', "object cannot be cast"),
    ],
)
def test_no_value_is_made_up(type_: str, value: bytes, reason: str) -> None:
    with pytest.raises(StageError, match=f"transformation t0: a: .*{reason}"):
        after(("Cast$Value", {"spec": f"a:{type_}"}), b'{"a":%b}' % value)


def test_several_fields_and_absent_ones() -> None:
    step = ("Cast$Value", {"spec": " a : int8 , b:STRING,c:boolean"})

    assert after(step, b'{"a":"1","b":2,"d":0.10}') == b'{"a":1,"b":"2","d":0.10}'
    assert after(step, None) is None


def test_the_whole_value() -> None:
    assert after(("Cast$Value", {"spec": "int8"}), b'"7"') == b"7"
    assert after(("Cast$Value", {"spec": "int8"}), None) is None
    with pytest.raises(StageError, match="the value: object cannot be cast"):
        after(("Cast$Value", {"spec": "int8"}), b'{"a":1}')


@pytest.mark.parametrize(
    ("origin", "number", "text"),
    [
        (TIMESTAMP, 1_700_000_000_573, "2023-11-14T22:13:20.573Z"),
        (TIMESTAMP, 1_699_920_000_000, "2023-11-14"),
        (DATE, 19_675, "2023-11-14"),
        (TIME, 1_500, "00:00:01.500Z"),
        ("io.debezium.time.MicroTime", 1_500, "1500"),
    ],
)
def test_times_of_a_schema_as_text(origin: str, number: int, text: str) -> None:
    made = record(None, typed=True)
    made.value = {"a": Typed(Raw(b"%d" % number), Scalar("long", origin=origin))}
    assert Transformer(chain(("Cast$Value", {"spec": "a:string"}))).apply(made)
    assert isinstance(made.value, dict)
    value = made.value["a"]
    assert isinstance(value, Typed)
    assert (bytes(value.raw), value.type) == (f'"{text}"'.encode(), Scalar("string"))


@pytest.mark.parametrize(("default", "cast"), [(b'"12"', b"12"), (b"null", None), (None, None)])
def test_a_default_value_of_a_schema_is_cast(default: bytes | None, cast: bytes | None) -> None:
    schema = ConnectSchema("string", optional=True, default=msgspec.UNSET if default is None else msgspec.Raw(default))
    made = record(None, typed=True)
    made.value = {"a": Typed(Raw(b'"5"'), Scalar("string", told=schema.to_json()))}
    assert Transformer(chain(("Cast$Value", {"spec": "a:int16"}))).apply(made)
    assert isinstance(made.value, dict) and isinstance(made.value["a"], Typed)
    told = ConnectSchema("int16", optional=True, default=msgspec.UNSET if cast is None else msgspec.Raw(cast))
    assert made.value["a"].type.told == told.to_json()


def test_a_default_value_that_cannot_be_cast_fails_the_record() -> None:
    schema = ConnectSchema("string", default=msgspec.Raw(b'"x"'))
    value: Members = {"a": Typed(Raw(b'"5"'), Scalar("string", told=schema.to_json()))}
    with pytest.raises(StageError, match="a: the text is not an integer of 16 bits"):
        Transformer(chain(("Cast$Value", {"spec": "a:int16"}))).apply(record(value, typed=True))  # type: ignore[arg-type]
