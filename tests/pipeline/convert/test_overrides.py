"""Types that a connector's configuration gives to new columns."""

from __future__ import annotations

import pytest

from frazil.pipeline.convert.column_types import column_type
from frazil.pipeline.convert.infer import infer
from frazil.pipeline.convert.overrides import NO_OVERRIDES, Overrides, overrides_of
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type


def made(**types: str) -> Overrides:
    """Overrides by paths, with `__` between names."""
    return overrides_of({tuple(path.split("__")): column_type(text) for path, text in types.items()})


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("long", Scalar("long")),
        ("json", STRING),
        ("decimal(10,2)", Scalar("decimal", precision=10, scale=2)),
        ("fixed[16]", Scalar("fixed", length=16)),
        ("list<int>", List(Scalar("int"))),
        ("map<string,list<date>>", Map(STRING, List(Scalar("date")))),
        ("struct<a:int,b:date>", Struct((Field("a", Scalar("int")), Field("b", Scalar("date"))))),
    ],
)
def test_a_new_column_has_the_type_that_is_set(text: str, type_: Type) -> None:
    assert made(a=text).infer(("a",), b'{"x":1}') == type_
    assert made(a=text).infer(("a",), b"null") is None, "a null shows no column"
    assert made(a=text).infer(("b",), b"1") == infer(b"1")


def test_members_have_theirs_wherever_they_are() -> None:
    types = made(a__b="string", a__gone="ignore", l__element__n="double", m__value="map")
    assert types.infer(("a",), b'{"b":{"c":1},"gone":1,"d":1}') == Struct(
        (Field("b", STRING), Field("d", Scalar("long")))
    )
    assert types.infer(("l",), b'[{"n":1}]') == List(Struct((Field("n", Scalar("double")),)))
    assert types.apply(("m",), Map(STRING, STRING)) == Map(STRING, Map(STRING, STRING))
    assert types.infer(("a", "gone"), b"1") is None
    assert made(a__gone="ignore").infer(("a",), b'{"gone":1}') is None, "nothing is left of it"


def test_without_any_a_type_is_what_the_value_shows() -> None:
    assert NO_OVERRIDES.infer(("a",), b'{"b":1}') == Struct((Field("b", Scalar("long")),))
    struct = Struct((Field("a", STRING),))
    assert NO_OVERRIDES.mark(struct) is struct


def test_columns_know_the_members_that_never_become_columns() -> None:
    paths = ("x", "a__gone", "a__kept", "l__element__gone", "m__value__gone", "s__no")
    types = made(**dict.fromkeys(paths, "ignore"))
    inner = Struct((Field("kept", STRING),))
    struct = Struct(
        (
            Field("a", inner),
            Field("l", List(inner)),
            Field("m", Map(STRING, inner)),
            Field("s", STRING),
            Field("o", inner),
        )
    )
    marked = types.mark(struct)
    assert marked.ignored == ("x",)
    found = {field.name: field.type for field in marked.fields}
    assert found["a"] == Struct(inner.fields, ("gone",)), "a column that is there already stays one"
    assert found["l"] == List(Struct(inner.fields, ("gone",)))
    assert found["m"] == Map(STRING, Struct(inner.fields, ("gone",)))
    assert (found["s"], found["o"]) == (STRING, inner)
