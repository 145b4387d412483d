from __future__ import annotations

import pytest

from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type, changed, column_names, has_aliases


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (STRING, "string"),
        (Scalar("timestamptz_ns"), "timestamptz_ns"),
        (Scalar("decimal", precision=9, scale=2), "decimal(9,2)"),
        (Scalar("fixed", length=16), "fixed(16)"),
        (List(Map(STRING, Scalar("int"))), "list<map<string, int>>"),
        (Struct((Field("a", STRING), Field("b", List(STRING)))), "struct<a: string, b: list<string>>"),
    ],
)
def test_types_read_as_in_iceberg(type_: Type, text: str) -> None:
    assert str(type_) == text


def test_equal_types_are_one_key() -> None:
    assert len({List(Scalar("int")), List(Scalar("int")), List(Scalar("int"), element_required=True)}) == 2


NESTED = Struct((Field("a", List(Struct((Field("b", Scalar("int")),)))), Field("m", Map(STRING, Scalar("long")))))


def test_names_of_columns_are_those_that_iceberg_finds_them_by() -> None:
    assert list(column_names(NESTED)) == ["a", "a.element", "a.element.b", "m", "m.key", "m.value"]


def test_inner_types_are_changed_or_taken_out() -> None:
    def without_structs(_: str, inner: Type) -> Type | None:
        return None if isinstance(inner, Struct) else changed(inner, without_structs)

    assert changed(NESTED, without_structs) == Struct((Field("m", Map(STRING, Scalar("long"))),))
    assert changed(Struct((Field("s", Struct(())),)), without_structs) is None
    assert changed(Map(STRING, STRING), lambda name, _: Scalar("int") if name == "value" else None) == Map(
        STRING, Scalar("int")
    )


def test_aliases_are_found_at_any_depth() -> None:
    assert not has_aliases(NESTED)
    assert has_aliases(List(Map(STRING, Struct((Field("a", STRING, aliases=("b",)),)))))
