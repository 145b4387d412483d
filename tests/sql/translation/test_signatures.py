from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.sql.translation.functions import AGGREGATES, SCALARS, WINDOWS
from frazil.sql.translation.signatures import Signature, applied, declared
from frazil.sql.translation.types import BIGINT, DOUBLE, INTEGER, VARCHAR, Type, array, parse_type
from frazil.sql.translation.value import Value


def test_a_signature_is_read() -> None:
    [signature] = declared("f(array(T), map(K, V)) -> array(V) = g({1}, {0})")["f"]
    assert signature.params == (array(Type("T")), Type("map", (Type("K"), Type("V"))))
    assert (signature.result, signature.body) == (array(Type("V")), "g({1}, {0})")


def test_variadic_signatures_take_any_number() -> None:
    signatures = declared("f(integer, varchar...) -> varchar = f({all})")["f"]
    values = [Value("1", INTEGER), Value("'a'", VARCHAR), Value("'b'", VARCHAR)]
    assert applied(signatures, values)[0] == "f(1, 'a', 'b')"
    with pytest.raises(QueryError, match=r"f\(integer\) is not known here"):
        applied(signatures, values[:1])


def test_type_variables_become_the_common_type() -> None:
    signatures = declared("f(array(T), T) -> map(T, varchar) = f({0}, {1})")["f"]
    body, kind, _ = applied(signatures, [Value("a", array(INTEGER)), Value("b", BIGINT)])
    assert (body, kind) == ("f(CAST(a AS BIGINT[]), b)", parse_type("map(bigint, varchar)"))
    with pytest.raises(QueryError, match="is not known here.*--engine trino"):
        applied(signatures, [Value("a", array(INTEGER)), Value("b", VARCHAR)])


def test_the_signature_that_changes_least_is_taken() -> None:
    signatures = declared("f(double) -> double = d({0})\nf(bigint) -> bigint = b({0})")["f"]
    assert applied(signatures, [Value("x", BIGINT)])[0] == "b(x)"
    assert applied(signatures, [Value("x", DOUBLE)])[0] == "d(x)"


def test_a_line_that_is_no_signature_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a signature"):
        declared("f(integer) = x")


@pytest.mark.parametrize("table", [AGGREGATES, WINDOWS, SCALARS])
def test_holes_of_the_bodies_are_arguments(table: dict[str, list[Signature]]) -> None:
    for signatures in table.values():
        for signature in signatures:
            for number in range(9):
                if f"{{{number}}}" in signature.body:
                    assert number < len(signature.params)
