from __future__ import annotations

import itertools
import json
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.convert.infer import NOTHING, Path, infer, merge, merge_all, merge_types, without_empties
from frazil.pipeline.convert.strict import ConversionError, Converter, parse_object
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type

LONG, DOUBLE, BOOLEAN = Scalar("long"), Scalar("double"), Scalar("boolean")
INT, FLOAT, DATE = Scalar("int"), Scalar("float"), Scalar("date")
WIDE = Scalar("decimal", precision=38)


def decimal(precision: int, scale: int) -> Scalar:
    return Scalar("decimal", precision=precision, scale=scale)


DECIMALS = [decimal(9, 2), decimal(5, 3), decimal(38, 3), WIDE]


def struct(**members: Type) -> Struct:
    return Struct(tuple(Field(name, type_) for name, type_ in members.items()))


NESTED = [struct(a=INT), struct(a=DOUBLE, b=DATE), List(INT), List(struct(a=LONG)), Map(INT, FLOAT), Map(STRING, INT)]


@pytest.mark.parametrize(
    ("raw", "type_"),
    [
        pytest.param("1", LONG, id="long"),
        pytest.param("1.1", DOUBLE, id="double"),
        pytest.param('"foobar"', STRING, id="string"),
        pytest.param("true", BOOLEAN, id="boolean"),
        pytest.param('["foobar"]', List(STRING), id="list"),
        pytest.param('{"foo":"bar"}', struct(foo=STRING), id="struct"),
        pytest.param("1.0", DOUBLE, id="whole double"),
        pytest.param('"2025-01-15T10:30:00Z"', STRING, id="texts are never timestamps"),
        pytest.param("-9223372036854775808", LONG, id="lowest long"),
        pytest.param("9223372036854775808", WIDE, id="beyond a long"),
        pytest.param("-" + "9" * 38, WIDE, id="longest decimal"),
        pytest.param("1" + "0" * 38, STRING, id="beyond decimal(38,0)"),
        pytest.param("1" * 5000, STRING, id="5,000 digits"),
        pytest.param("1e400", DOUBLE, id="exponent"),
        pytest.param("[1,2.5,null]", List(DOUBLE), id="numbers of a list"),
        pytest.param('[1,"x"]', List(STRING), id="mixed list"),
        pytest.param('[{"a":1},{"b":"x"},{}]', List(struct(a=LONG, b=STRING)), id="structs of a list"),
        pytest.param("[[],[1]]", List(List(LONG)), id="list of lists"),
        pytest.param('{"a":[{"":1}]}', struct(a=List(STRING)), id="empty name"),
        pytest.param('{"a":null,"b":{"c":[]},"d":1}', struct(d=LONG), id="only what shows a type"),
    ],
)
def test_inferred(raw: str, type_: Type) -> None:
    assert infer(raw.encode()) == type_


@pytest.mark.parametrize("raw", ["null", "[]", "[null]", "[{}]", "{}", '{"col":null}', '{"nested":{}}', "[[]]"])
def test_no_type_yet(raw: str) -> None:
    assert infer(raw.encode()) is None


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["[]", "true"], STRING),
        (["{}", "1"], STRING),
        (["[]", "{}"], STRING),
        (["[]", "[1]"], List(LONG)),
        (["[{}]", "[1]"], List(STRING)),
        (["[]", "[{}]"], None),
        (["{}", '{"a":1}'], struct(a=LONG)),
        (['{"a":[],"b":1}', '{"a":2}'], struct(a=STRING, b=LONG)),
        (["[]", "null", "[null]"], None),
        (['{"a":{}}', '{"b":[[]]}'], None),
    ],
)
def test_empty_arrays_and_objects_beside_other_values(values: list[str], type_: Type | None) -> None:
    for order in itertools.permutations(values):
        found: Type | None = None
        for value in order:
            found = merge(found, infer(value.encode(), empties="kinds"))
        assert _by_name(without_empties(found)) == _by_name(type_)


def _by_name(type_: Type | None) -> object:
    return sorted(type_.fields, key=lambda field: field.name) if isinstance(type_, Struct) else type_


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [33, 400, 900])
def test_what_is_nested_too_deeply_is_text(opening: str, depth: int) -> None:
    closing = "]" if opening == "[" else "}"
    type_ = infer((opening * depth + "1" + closing * depth).encode())
    assert type_ == infer((opening * 33 + "1" + closing * 33).encode())
    assert pickle.dumps(type_)
    for _ in range(32):
        assert isinstance(type_, List | Struct)
        type_ = type_.element if isinstance(type_, List) else type_.fields[0].type
    assert type_ == STRING


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        (None, None, None),
        (None, LONG, LONG),
        (LONG, LONG, LONG),
        (LONG, DOUBLE, DOUBLE),
        (LONG, WIDE, WIDE),
        (WIDE, DOUBLE, STRING),
        (LONG, BOOLEAN, STRING),
        (LONG, STRING, STRING),
        (List(LONG), LONG, STRING),
        (List(LONG), List(DOUBLE), List(DOUBLE)),
        (struct(a=LONG), struct(a=DOUBLE, b=STRING), struct(a=DOUBLE, b=STRING)),
        (struct(a=LONG), List(struct(a=LONG)), STRING),
        (INT, LONG, LONG),
        (FLOAT, DOUBLE, DOUBLE),
        (INT, FLOAT, DOUBLE),
        (decimal(9, 2), decimal(5, 3), decimal(10, 3)),
        (decimal(38, 2), decimal(38, 3), decimal(38, 3)),
        (decimal(5, 3), INT, decimal(13, 3)),
        (decimal(5, 3), LONG, decimal(22, 3)),
        (decimal(5, 3), DOUBLE, STRING),
        (DATE, DATE, DATE),
        (DATE, LONG, STRING),
        (Map(STRING, INT), Map(STRING, LONG), Map(STRING, LONG)),
        (Map(INT, DATE), Map(LONG, DATE), Map(LONG, DATE)),
        (Map(INT, FLOAT), Map(STRING, DOUBLE), Map(STRING, DOUBLE)),
        (List(Map(STRING, INT)), List(Map(STRING, LONG)), List(Map(STRING, LONG))),
        (Map(STRING, struct(a=INT)), Map(STRING, struct(a=LONG, b=DATE)), Map(STRING, struct(a=LONG, b=DATE))),
        (Map(STRING, INT), struct(a=INT), STRING),
    ],
)
def test_merged(left: Type | None, right: Type | None, merged: Type | None) -> None:
    assert merge(left, right) == merge(right, left) == merged
    assert merge_types([left, right]) == merge_types([right, left, left]) == merged


@given(
    st.lists(st.sampled_from([None, NOTHING, INT, LONG, FLOAT, DOUBLE, STRING, DATE, *DECIMALS, *NESTED]), max_size=6)
)
def test_types_merge_at_once_as_they_do_one_by_one(types: list[Type | None]) -> None:
    one_by_one: Type | None = None
    for type_ in types:
        one_by_one = merge(one_by_one, type_)
    assert merge_types(types) == one_by_one


JSON = st.recursive(
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


def unordered(type_: Type | None) -> object:
    match type_:
        case Struct(fields):
            return {f.name: unordered(f.type) for f in fields}
        case List(element):
            return [unordered(element)]
        case _:
            return type_


@given(st.lists(JSON, min_size=1, max_size=4))
def test_a_merged_type_holds_every_value_in_any_order(values: list[object]) -> None:
    raws = [json.dumps(value).encode() for value in values]
    outcomes = []
    for order in itertools.permutations(raws):
        type_: Type | None = None
        for raw in order:
            type_ = merge(type_, infer(raw))
        outcomes.append(type_)
    assert all(unordered(type_) == unordered(outcomes[0]) for type_ in outcomes)
    assert outcomes[0] is not None
    converter = Converter(Struct((Field("v", outcomes[0]),)))
    for raw in raws:
        try:
            converter.row(parse_object(b'{"v":' + raw + b"}"))
        except ConversionError as error:
            assert "more digits than a double keeps" in str(error)
            assert any(float(digits) != int(digits) for digits in re.findall(rb"-?[0-9]{16,}", raw))


def test_each_path_of_several_tasks_once() -> None:
    first: dict[Path, Type] = {("a",): LONG, ("s",): struct(x=LONG)}
    second: dict[Path, Type] = {("a",): DOUBLE, ("s",): struct(y=STRING), ("b",): BOOLEAN}
    assert merge_all([first, {}, second]) == {("a",): DOUBLE, ("s",): struct(x=LONG, y=STRING), ("b",): BOOLEAN}
