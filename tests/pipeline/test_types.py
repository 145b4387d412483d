from __future__ import annotations

import pytest

from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type


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
