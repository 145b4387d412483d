from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from frazil.pipeline.convert.base64_decimals import decimal_text
from frazil.pipeline.schemas.connect import SchemaError, UnfitRecord
from tests.pipeline.schemas.protobufs import HEAD, made, schema_of, value_of

SCALARS = (
    HEAD
    + """
message Item {
  string s = 1; int32 i = 2; int64 l = 3; float f = 4; double d = 5; bool b = 6; bytes y = 7;
  uint32 u = 8; uint64 ul = 9; sint32 z = 10; fixed64 x = 11; optional int32 maybe = 12;
  repeated string texts = 13; map<string, float> by_text = 14; map<int64, bool> by_number = 15;
}
"""
)
UNION = (
    HEAD
    + """
message Item {
  message Card { string number = 1; }
  int32 before = 1;
  oneof payment { string cash = 2; Card card = 3; }
  int32 after = 4;
}
"""
)
TIMES = (
    HEAD
    + """
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
message Item {
  google.protobuf.Timestamp at = 1;
  google.type.Date day = 2;
  google.type.TimeOfDay time = 3;
  confluent.type.Decimal price = 4 [(confluent.field_meta).params = {key: "scale", value: "2"}];
  google.protobuf.StringValue text = 5;
  int32 small = 6 [(confluent.field_meta) = {params: [{key: "connect.type", value: "int16"}]}];
}
"""
)
ENUM = HEAD + "enum Color { RED = 0; BLUE = 5; }\nmessage Item { Color one = 1; repeated Color several = 2; }"


def fields(schema: dict[str, Any]) -> dict[str, tuple[str, str | None, bool]]:
    return {one["field"]: (one["type"], one.get("name"), one.get("optional", False)) for one in schema["fields"]}


def test_scalars_have_the_types_that_connect_has_for_them() -> None:
    schema = schema_of(SCALARS)
    assert (schema["type"], schema["name"]) == ("struct", "Item")
    assert {name: type_ for name, (type_, *_) in fields(schema).items()} == {
        "s": "string",
        "i": "int32",
        "l": "int64",
        "f": "float",
        "d": "double",
        "b": "boolean",
        "y": "bytes",
        "u": "int64",
        "ul": "int64",
        "z": "int32",
        "x": "int64",
        "maybe": "int32",
        "texts": "array",
        "by_text": "map",
        "by_number": "map",
    }
    assert all(optional for *_, optional in fields(schema).values())
    parameters = {one["field"]: one["parameters"] for one in schema["fields"]}
    assert parameters["s"] == {"io.confluent.connect.protobuf.Tag": "1"}
    assert parameters["z"]["io.confluent.connect.protobuf.Type"] == "sint32"
    assert fields(schema)["by_text"][1] == "by_text"


def test_values_are_exact_and_absent_ones_their_default() -> None:
    assert value_of(SCALARS, b"") == {
        **{"s": "", "i": 0, "l": 0, "f": 0, "d": 0, "b": False, "y": "", "u": 0, "ul": 0, "z": 0, "x": 0},
        **{"maybe": None, "texts": [], "by_text": {}, "by_number": []},
    }
    item = made(SCALARS)
    item.s, item.i, item.l, item.f, item.d, item.b, item.y = "ä", -(2**31), 2**63 - 1, 0.1, float("-inf"), True, b"\xff"
    item.u, item.ul, item.z, item.x, item.maybe = 2**32 - 1, 2**64 - 1, -1, 2**63, 0
    item.texts.extend(["b", "a"])
    item.by_text["z"], item.by_text["a"] = 1, 0.3
    item.by_number[7], item.by_number[-7] = True, False
    assert value_of(SCALARS, item) == {
        **{"s": "ä", "i": -(2**31), "l": 2**63 - 1, "f": 0.1, "d": "-Infinity", "b": True, "y": "/w=="},
        **{"u": 2**32 - 1, "ul": 2**64 - 1, "z": -1, "x": 2**63, "maybe": 0},
        **{"texts": ["b", "a"], "by_text": {"a": 0.3, "z": 1}, "by_number": [[-7, False], [7, True]]},
    }


def test_a_oneof_is_a_struct_of_which_one_member_has_a_value() -> None:
    schema = schema_of(UNION)
    assert list(fields(schema)) == ["payment_0", "before", "after"]
    assert fields(schema)["payment_0"] == ("struct", "io.confluent.connect.protobuf.Union.payment", True)
    item = made(UNION)
    assert value_of(UNION, item) == {"payment_0": None, "before": 0, "after": 0}
    item.card.number = ""
    assert value_of(UNION, item)["payment_0"] == {"cash": None, "card": {"number": ""}}
    item.cash = ""
    assert value_of(UNION, item)["payment_0"] == {"cash": "", "card": None}


def test_options_for_a_oneof() -> None:
    item = made(UNION)
    item.cash = "x"
    assert list(value_of(UNION, item, index_for_unions=False)) == ["payment", "before", "after"]
    assert value_of(UNION, item, flatten_unions=True) == {"cash": "x", "card": None, "before": 0, "after": 0}
    assert list(fields(schema_of(UNION, flatten_unions=True))) == ["cash", "card", "before", "after"]
    (union, *_) = schema_of(UNION, sums=True)["fields"]
    assert (union["name"], union["parameters"]) == ("payment", {"org.apache.kafka.connect.data.Union": "payment"})
    (union, *_) = schema_of(UNION, full_names=True)["fields"]
    assert union["name"] == "io.confluent.connect.protobuf.Union.shop.v1.Item.payment"
    assert schema_of(UNION, full_names=True)["name"] == "shop.v1.Item"


def test_well_known_messages_are_logical_types() -> None:
    schema = schema_of(TIMES)
    connect = "org.apache.kafka.connect.data."
    assert fields(schema) == {
        "at": ("int64", f"{connect}Timestamp", True),
        "day": ("int32", f"{connect}Date", True),
        "time": ("int32", f"{connect}Time", True),
        "price": ("bytes", f"{connect}Decimal", True),
        "text": ("struct", "StringValue", True),
        "small": ("int16", None, True),
    }
    assert schema["fields"][3]["parameters"]["scale"] == "2"
    assert value_of(TIMES, b"") == {**{"at": None, "day": None, "time": None, "price": None, "text": None, "small": 0}}
    item = made(TIMES)
    item.at.seconds, item.at.nanos = -1, 999_999_999
    item.day.year, item.day.month, item.day.day = 1969, 12, 31
    item.time.hours, item.time.nanos = 23, 1_500_000
    item.price.value, item.price.scale = (-5).to_bytes(1, "big", signed=True), 1
    item.text.value = ""
    found = value_of(TIMES, item)
    assert decimal_text(found.pop("price"), 2) == b"-0.50"
    assert found == {"at": -1, "day": -1, "time": 82_800_001, "text": {"value": ""}, "small": 0}


@pytest.mark.parametrize(
    ("unscaled", "scale", "precision", "expected"),
    [
        (12345, 2, 0, "123.45"),
        (1, -3, 0, "1000.00"),
        (12300, 4, 5, "1.23"),
        (12345, 3, 0, None),
        (12345, 2, 4, None),
        (1, -2_000_000_000, 0, None),
        (None, 0, 0, None),
    ],
)
def test_decimals_are_exact_or_refused(unscaled: int | None, scale: int, precision: int, expected: str | None) -> None:
    item = made(TIMES)
    item.price.SetInParent()
    if unscaled is not None:
        item.price.value = unscaled.to_bytes(4, "big", signed=True)
    item.price.scale, item.price.precision = scale, precision
    if expected is None:
        with pytest.raises(UnfitRecord, match="a decimal has"):
            value_of(TIMES, item)
    else:
        assert Decimal(decimal_text(value_of(TIMES, item)["price"], 2).decode()) == Decimal(expected)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("day", {"year": 2023, "month": 2, "day": 29}),
        ("day", {"year": 2023}),
        ("time", {"hours": 24}),
        ("time", {"nanos": -1}),
        ("at", {"seconds": 2**40}),
        ("at", {"nanos": 1_000_000_000}),
    ],
)
def test_times_that_are_none_are_refused(name: str, values: dict[str, int]) -> None:
    item = made(TIMES)
    for member, value in values.items():
        setattr(getattr(item, name), member, value)
    with pytest.raises(UnfitRecord, match="there is no (day|time)"):
        value_of(TIMES, item)


def test_options_for_values_that_may_be_absent() -> None:
    item = made(TIMES)
    item.text.value = "x"
    assert value_of(TIMES, item, wrapper_for_nullables=True)["text"] == "x"
    assert value_of(TIMES, b"", wrapper_for_nullables=True)["text"] is None
    assert value_of(TIMES, b"", struct_for_nulls=True) == {
        **{"at": None, "day": None, "time": None, "price": None, "text": {"value": ""}, "small": 0}
    }
    required = {name for name, (*_, optional) in fields(schema_of(SCALARS, optional_for_nullables=True)).items()
                if not optional}  # fmt: skip
    assert required == {"s", "i", "l", "f", "d", "b", "y", "u", "ul", "z", "x"}
    assert not fields(schema_of(TIMES, wrapper_for_nullables=True))["small"][2]


def test_enums_are_their_names() -> None:
    item = made(ENUM)
    item.one = 7
    item.several.extend([5, 0])
    assert value_of(ENUM, item) == {"one": "UNKNOWN_ENUM_VALUE_Color_7", "several": ["BLUE", "RED"]}
    assert value_of(ENUM, item, int_for_enums=True) == {"one": 7, "several": [5, 0]}
    one = schema_of(ENUM)["fields"][0]
    mark = "io.confluent.connect.protobuf.Enum"
    assert (one["type"], one["name"]) == ("string", "Color")
    assert one["parameters"].items() >= {mark: "Color", f"{mark}.RED": "0", f"{mark}.BLUE": "5"}.items()
    assert schema_of(ENUM, int_for_enums=True)["fields"][0]["type"] == "int32"


PROTO2 = """
syntax = "proto2";
message Item { required int32 id = 1; optional string note = 2 [default = "none"]; optional bool flag = 3; }
"""


def test_proto2() -> None:
    item = made(PROTO2)
    item.id = 1
    assert value_of(PROTO2, item) == {"id": 1, "note": None, "flag": None}
    assert value_of(PROTO2, item, optional_for_proto2=False) == {"id": 1, "note": "none", "flag": False}
    with pytest.raises(UnfitRecord, match="it lacks id"):
        value_of(PROTO2, b"")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("message Item { Item inside = 1; }", "shop.v1.Item is inside of itself"),
        ("message Item { repeated Other all = 1; }\nmessage Other { map<string, Item> a = 1; }", "is inside of itself"),
    ],
)
def test_a_message_inside_of_itself_has_no_columns(body: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        schema_of(HEAD + body)


def test_a_group_has_no_type() -> None:
    with pytest.raises(SchemaError, match="is a group"):
        schema_of('syntax = "proto2";\nmessage Item { optional group Inside = 1 { optional int32 a = 1; } }')


def test_a_schema_that_stands_for_too_many_types_is_refused() -> None:
    levels = [f"message L{n} {{ " + " ".join(f"L{n + 1} f{k} = {k};" for k in range(1, 11)) + " }" for n in range(5)]
    with pytest.raises(SchemaError, match="more than 10,000 types"):
        schema_of(HEAD + "\n".join(levels) + "\nmessage L5 { int32 a = 1; }")


@pytest.mark.parametrize(
    "data", [b"\x0a\x05ab", b"\x0a\x01\xff", b"\x0b", b"\xff" * 11, b"\x08", bytes([0x0A]) + b"\xff" * 5], ids=bytes.hex
)
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(UnfitRecord, match="it is no shop.v1.Item"):
        value_of(SCALARS, data)


@pytest.mark.parametrize("syntax", ['syntax = "proto2"', 'edition = "2023"'])
def test_texts_that_only_proto3_checks_are_utf_8_or_refused(syntax: str) -> None:
    label, free = ("optional ", "") if "proto2" in syntax else ("", " [features.utf8_validation = NONE]")
    members = f"{label}string a = 1{free}; repeated string b = 2{free}; map<string, string> c = 3{free};"
    text = f"{syntax};\nmessage Item {{ {members} oneof d {{ string e = 4{free}; }} }}"
    for member in ("0a01{}", "1201{}", "1a060a01{}120161", "1a060a01611201{}", "2201{}"):
        value_of(text, bytes.fromhex(member.format("61")))
        with pytest.raises(UnfitRecord, match="a text is not UTF-8"):
            value_of(text, bytes.fromhex(member.format("ff")))


def test_a_deeply_nested_message_is_refused() -> None:
    text = HEAD + "message Item { Other other = 1; }\nmessage Other { string a = 1; }"
    data = b""
    for _ in range(500):
        data = b"\x0a" + bytes([len(data) & 0x7F | 0x80, len(data) >> 7]) + data
    with pytest.raises(UnfitRecord):
        value_of(text, data)


def test_names_of_fields_may_be_those_of_python() -> None:
    names = ("class", "__class__", "FromString", "HasField", "WhichOneof", "IsInitialized")
    members = " ".join(f"optional string {name} = {n};" for n, name in enumerate(names, start=1))
    text = HEAD + f"message Item {{ {members} oneof one {{ string a = 7; }} }}"
    body = b"".join(bytes([number << 3 | 2, 1]) + b"abcdefg"[number - 1 : number] for number in range(1, 8))
    assert value_of(text, body) == {"one_0": {"a": "g"}, **dict(zip(names, "abcdef", strict=True))}


def test_a_message_that_has_but_the_name_of_a_well_known_one_is_a_struct() -> None:
    text = 'syntax = "proto3";\npackage google.type;\nmessage Item { Date at = 1; }\nmessage Date { string year = 1; }'
    assert value_of(text, b"\x0a\x03\x0a\x01x") == {"at": {"year": "x"}}
