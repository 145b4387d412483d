from __future__ import annotations

import pytest

from frazil.query.sql.functions.aggregates import AGGREGATES, WINDOWS
from frazil.query.sql.functions.collections import COLLECTIONS
from frazil.query.sql.functions.plain import PLAIN
from frazil.query.sql.functions.signatures import LambdaType, bind, declared, resolved
from frazil.query.sql.types import INTEGER, VARCHAR, Type, array, parse_type


def test_a_signature_is_read() -> None:
    [signature] = declared("reduce(array(T), S, (S,T)=>S) -> S = f({0}, {2})")["reduce"]
    assert signature.params == (array(Type("T")), Type("S"), LambdaType((Type("S"), Type("T")), Type("S")))
    assert (signature.result, signature.body) == (Type("S"), "f({0}, {2})")


def test_variadic_signatures_take_any_number() -> None:
    [signature] = declared("f(integer, varchar...) -> varchar = f({all})")["f"]
    assert signature.parameters(1) == (INTEGER,)
    assert signature.parameters(3) == (INTEGER, VARCHAR, VARCHAR)
    assert signature.parameters(0) is None


def test_type_variables_become_the_common_type() -> None:
    bindings: dict[str, Type] = {}
    assert bind(parse_type("array(T)"), array(INTEGER), bindings)
    assert bind(parse_type("T"), parse_type("bigint"), bindings)
    assert resolved(parse_type("map(T, varchar)"), bindings) == parse_type("map(bigint, varchar)")
    assert not bind(parse_type("T"), VARCHAR, bindings)


def test_a_line_that_is_no_signature_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a signature"):
        declared("f(integer) = x")


@pytest.mark.parametrize("table", [AGGREGATES, WINDOWS, COLLECTIONS, PLAIN])
def test_holes_of_the_bodies_are_arguments(table: dict[str, list[object]]) -> None:
    from frazil.query.sql.functions.signatures import Signature

    for signatures in table.values():
        for signature in signatures:
            assert isinstance(signature, Signature)
            for number in range(9):
                if f"{{{number}}}" in signature.body:
                    assert number < len(signature.params)
