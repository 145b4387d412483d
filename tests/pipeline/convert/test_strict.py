from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from frazil.pipeline.convert.strict import ConversionError, Converter, Notes, parse_object
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type

INT, LONG = Scalar("int"), Scalar("long")
POINT = Struct((Field("x", INT), Field("y", STRING)))


def noting(unknown: Callable[[tuple[tuple[str, ...], bytes]], None] = lambda told: None) -> Notes:
    """Notes of unknown fields alone."""
    return Notes(lambda path, raw: unknown((path, raw)), lambda path, raw: None)


def row(columns: Struct, document: str) -> dict[str, Any]:
    return Converter(columns).row(parse_object(document.encode()))


def column(type_: Type, raw: str, *, required: bool = False) -> Any:
    return row(Struct((Field("v", type_, required),)), f'{{"v":{raw}}}')["v"]


def error(columns: Struct, document: str) -> tuple[str, str]:
    with pytest.raises(ConversionError) as caught:
        row(columns, document)
    return caught.value.path, caught.value.reason


@pytest.mark.parametrize(
    ("type_", "raw", "value"),
    [
        pytest.param(POINT, '{"x":1,"y":"a"}', {"x": 1, "y": "a"}, id="struct in struct"),
        pytest.param(List(POINT), '[{"x":1},{"x":1},null]', [{"x": 1}, {"x": 1}, None], id="list of structs"),
        pytest.param(
            Map(STRING, POINT), '{"a":{"x":1},"b":{"x":1}}', [("a", {"x": 1}), ("b", {"x": 1})], id="map of structs"
        ),
        pytest.param(List(INT), "[]", [], id="empty list"),
        pytest.param(Map(STRING, INT), "{}", [], id="empty map"),
        pytest.param(
            Map(STRING, STRING),
            '{"a":1,"b":{"c":2},"d":null}',
            [("a", "1"), ("b", '{"c":2}'), ("d", None)],
            id="map of texts",
        ),
        pytest.param(Map(LONG, STRING), '{"1":"a","2":"b"}', [(1, "a"), (2, "b")], id="map with integer keys"),
        pytest.param(Map(STRING, INT), '{"a":1,"b":2,"a":3}', [("a", 3), ("b", 2)], id="the last of two keys wins"),
        pytest.param(POINT, '{"x":1,"x":2}', {"x": 2}, id="the last of two members wins"),
        pytest.param(List(List(Scalar("double"))), "[[1.5],[],null]", [[1.5], [], None], id="list of lists"),
        pytest.param(Scalar("decimal", 4, 1), "12.20", Decimal("12.2"), id="zeros that the column does not keep"),
        pytest.param(STRING, "[" * 900 + "]" * 900, "[" * 900 + "]" * 900, id="deep text"),
    ],
)
def test_columns(type_: Type, raw: str, value: Any) -> None:
    assert column(type_, raw) == value


@pytest.mark.parametrize(
    ("type_", "expected"), [(List(INT), "an array"), (POINT, "an object"), (Map(STRING, INT), "an object")], ids=str
)
@pytest.mark.parametrize(("raw", "kind"), [('"x"', "text"), ("5", "number"), ("true", "boolean")])
def test_a_scalar_is_not_a_container(type_: Type, expected: str, raw: str, kind: str) -> None:
    assert error(Struct((Field("v", type_),)), f'{{"v":{raw}}}') == ("v", f"expected {expected}, got {kind}")


def test_names_are_exact() -> None:
    assert row(Struct((Field("ii", INT),)), '{"II":123}') == {}


def test_columns_are_found_by_name() -> None:
    assert row(Struct((Field("a", INT), Field("b", INT))), '{"b":200,"a":100}') == {"a": 100, "b": 200}


def test_unknown_fields_are_told_to_whom_it_concerns() -> None:
    columns = Struct((Field("p", POINT), Field("l", List(POINT)), Field("m", Map(STRING, POINT))))
    document = b'{"zzz":1,"p":{"z":[true]},"l":[{"z":2},{"z":3}],"m":{"k":{"z":"4"}}}'
    told: list[tuple[tuple[str, ...], bytes]] = []
    Converter(columns).row(parse_object(document), noting(told.append))
    assert told == [
        (("zzz",), b"1"),
        (("p", "z"), b"[true]"),
        (("l", "element", "z"), b"2"),
        (("l", "element", "z"), b"3"),
        (("m", "value", "z"), b'"4"'),
    ]
    assert Converter(columns).row(parse_object(document)) == {"p": {}, "l": [{}, {}], "m": [("k", {})]}


@pytest.mark.parametrize(
    ("document", "path", "reason"),
    [
        ('{"":1}', "", "a field with the empty name"),
        ('{"p":{"":1}}', "p", "a field with the empty name"),
        ('{"p.x":1}', "p.x", "there is a column p.x"),
        ('{"l":[{"x":1},{"":2}]}', "l[1]", "a field with the empty name"),
        ('{"l.element":1}', "l.element", "there is a column l.element"),
        ('{"m.value.y":1}', "m.value.y", "there is a column m.value.y"),
        ('{"L":1}', "L", "it differs only in case from the column l"),
        ('{"p":{"X":1}}', "p.X", "it differs only in case from the column p.x"),
        ('{"new":{"a":1,"A":2}}', "new", "two of its members would have the same name"),
        ('{"new":1,"New":2}', "New", "the record has new too, as the same column"),
        ('{"p":{"new":1,"New":2}}', "p.New", "the record has p.new too, as the same column"),
        ('{"new.a":1,"new":{"A":2}}', "new", "the record has new.a too, as the same column"),
    ],
)
def test_an_unknown_field_that_can_never_be_a_column(document: str, path: str, reason: str) -> None:
    columns = Struct((Field("p", POINT), Field("l", List(POINT)), Field("m", Map(STRING, POINT))))
    with pytest.raises(ConversionError, match="cannot become a column of the table") as caught:
        Converter(columns).row(parse_object(document.encode()), noting())
    assert reason in caught.value.reason
    assert caught.value.path == path
    assert row(columns, document) is not None


def test_a_table_that_may_have_no_more_columns() -> None:
    converter = Converter(Struct((Field("p", POINT),)), no_more_columns="there are enough")
    ignored: list[tuple[tuple[str, ...], bytes]] = []
    with pytest.raises(ConversionError, match="there are enough") as caught:
        converter.row(parse_object(b'{"p":{"new":1}}'), noting(ignored.append))
    assert (caught.value.path, caught.value.reason) == ("", "there are enough (p.new)")
    assert converter.row(parse_object(b'{"p":{"new":null},"q":[]}'), noting(ignored.append)) == {"p": {}}
    assert [path for path, _ in ignored] == [("p", "new"), ("q",)]


NEEDED = Struct((Field("id", LONG, required=True), Field("p", Struct((Field("x", INT, required=True),)))))


@pytest.mark.parametrize(
    ("document", "path", "reason"),
    [
        ('{"other":1}', "id", "the required value is missing"),
        ('{"id":null}', "id", "the required value is null"),
        ('{"id":1,"p":{}}', "p.x", "the required value is missing"),
        ('{"id":1,"p":{"x":null}}', "p.x", "the required value is null"),
    ],
)
def test_required_columns(document: str, path: str, reason: str) -> None:
    assert error(NEEDED, document) == (path, reason)
    assert row(NEEDED, '{"id":1,"p":null}') == {"id": 1, "p": None}


def test_required_elements_and_map_values() -> None:
    columns = Struct((Field("l", List(INT, True)), Field("m", Map(STRING, INT, True))))
    assert error(columns, '{"l":[1,null]}') == ("l[1]", "the required value is null")
    assert error(columns, '{"m":{"a":null}}') == ("m['a']", "the required value is null")


@pytest.mark.parametrize(
    ("document", "path", "reason"),
    [
        ('{"p":{"x":"a"}}', "p.x", 'the text is not an integer for type int ("a")'),
        ('{"l":[{"x":1},{"x":1.5}]}', "l[1].x", "the number has a fraction for type int (1.5)"),
        ('{"m":{"k":{"x":true}}}', "m['k'].x", "expected an integer, got boolean for type int (true)"),
        ('{"i":{"k":"v"}}', "i['k']", 'the text is not an integer for type int ("k")'),
        ('{"b":"secret!"}', "b", "the text is not Base64 for type binary"),
        (f'{{"p":{{"x":{"9" * 99}}}}}', "p.x", f"the number does not fit in 32 bits for type int ({'9' * 60}…)"),
    ],
    ids=["struct", "list", "map", "map key", "no excerpt of binary", "long excerpt"],
)
def test_an_error_names_column_value_and_reason(document: str, path: str, reason: str) -> None:
    columns = Struct(
        (
            Field("p", POINT),
            Field("l", List(POINT)),
            Field("m", Map(STRING, POINT)),
            Field("i", Map(INT, STRING)),
            Field("b", Scalar("binary")),
        )
    )
    assert error(columns, document) == (path, reason)
    with pytest.raises(ConversionError, match=re.escape(f"column {path}: {reason}")):
        row(columns, document)


def test_one_column_from_its_source_text() -> None:
    converter = Converter(NEEDED)
    assert converter.column("id", b'"12"', evolve=False) == 12
    for raw, reason in ((b"null", "the required value is null"), (b"{}", "expected an integer")):
        with pytest.raises(ConversionError, match=f"column id: {reason}"):
            converter.column("id", raw, evolve=False)


def test_one_column_that_could_hold_its_value_if_the_table_changed() -> None:
    converter = Converter(Struct((Field("n", Scalar("int")), Field("s", Struct((Field("a", STRING),))))))
    for name, raw in (("n", b"3000000000"), ("s", b'{"a":"x","b":1}')):
        with pytest.raises(ConversionError, match=f"column {name}: the table would have to change"):
            converter.column(name, raw, evolve=True)
    assert converter.column("s", b'{"a":"x","b":1}', evolve=False) == {"a": "x"}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(b"[1]", "not an object but array", id="array"),
        pytest.param(b' "x"', "not an object but text", id="text"),
        pytest.param(b"5", "not an object but number", id="number"),
        pytest.param(b"null", "not an object but null", id="null"),
        pytest.param(b'{"a":', "not JSON", id="truncated"),
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b" \n", "is empty", id="blank"),
        pytest.param(b"\xef\xbb\xbf{}", "not JSON", id="BOM"),
        pytest.param(b'{"a":1}{"a":2}', "not JSON", id="two objects"),
        pytest.param(b'{"a":1} x', "not JSON", id="trailing text"),
        pytest.param(b'{"a":1}\0', "not JSON", id="NUL after"),
        pytest.param(b'{"a":"\0"}', "not JSON", id="NUL inside"),
        pytest.param(b'{"a":"\xff"}', r"not UTF-8 \(byte 6\)", id="not UTF-8"),
        pytest.param(b'{"a":"\\ud800"}', r"not JSON: \\ud800 is half of a surrogate pair", id="first half of a pair"),
        pytest.param(b'{"a":"\\uD83D\\uDE00\\udc00x"}', r"not JSON: \\udc00 is half of", id="second half of a pair"),
        pytest.param(b'{"a":"\\ud800\\u0041"}', r"not JSON: \\ud800 is half of", id="half of a pair and a letter"),
        pytest.param(b'{"a":"\\\\ud800', "not JSON: Input data was truncated", id="escaped backslash"),
        pytest.param(b"{'a':1}", "not JSON", id="single quotes"),
        pytest.param(b'{"a":NaN}', "not JSON", id="NaN"),
        pytest.param(b'{"a":01}', "not JSON", id="leading zero"),
        pytest.param(b'{"a":1,}', "not JSON", id="trailing comma"),
        pytest.param(b'{"a":' * 200_000, "nested too deeply", id="200,000 objects deep"),
        pytest.param(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply", id="200,000 arrays deep"),
    ],
)
def test_a_value_that_is_not_one_object(value: bytes, reason: str) -> None:
    with pytest.raises(ConversionError, match=reason) as caught:
        parse_object(value)
    assert caught.value.path == ""


@pytest.mark.parametrize("depth", range(900, 1000, 2))
def test_nesting_near_the_parsers_limit_is_stored_or_refused(depth: int) -> None:
    """The members of a struct are parsed again from a deeper call, where less of the stack is left."""
    text = "[" * depth + "]" * depth
    columns = Struct((Field("p", Struct((Field("p", Struct((Field("p", POINT),))),))),))
    try:
        converted = row(columns, '{"p":{"p":{"p":{"y":%s}}}}' % text)  # noqa: UP031
    except ConversionError as refused:
        assert refused.reason == "the value is nested too deeply"
    else:
        assert converted["p"]["p"]["p"]["y"] == text


def test_members_keep_their_source_text() -> None:
    members = parse_object(b'{"a" : 1.50 , "b":{"c" : [1]}, "a": 2E1}')
    assert {name: bytes(raw) for name, raw in members.items()} == {"a": b"2E1", "b": b'{"c" : [1]}'}
    assert all(isinstance(raw, msgspec.Raw) for raw in members.values())


def test_a_record_of_ten_thousand_members_and_a_text_of_five_megabytes() -> None:
    document = json.dumps({f"m{i}": i for i in range(10_000)} | {"y": "é" * 2_500_000, "x": 7}, ensure_ascii=False)
    assert row(POINT, document) == {"x": 7, "y": "é" * 2_500_000}


@pytest.mark.parametrize("name", ["k" * 600_000, "['" * 300_000, "é\u2028" * 300_000], ids=["one", "paths", "escapes"])
def test_the_reason_of_a_dead_letter_is_short_whatever_the_names_of_a_record_are(name: str) -> None:
    """It stands in two headers, and the dead letter must not be much larger than the record."""
    columns = Struct((Field("m", Map(STRING, Map(STRING, LONG))), Field("l", LONG)))
    started = time.process_time()
    for value in ({"m": {name: {name: "x"}}}, {"m": {name: 1}}, {"l": name}):
        with pytest.raises(ConversionError) as raised:
            Converter(columns).row(parse_object(json.dumps(value).encode()))
        assert len(str(raised.value.with_way_on())) < 3000
    assert time.process_time() - started < 2
