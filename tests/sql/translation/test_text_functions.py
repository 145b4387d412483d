from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.sql.engine import Engine
from frazil.sql.translation.text_functions import (
    double_text,
    json_extract,
    json_extract_scalar,
    json_parse,
)
from tests.sql.catalogs import LOG_TABLES, MetadataCatalog, computed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_json_keeps_its_value_and_has_one_form(value: object) -> None:
    written = json_parse(json.dumps(value, indent=2))
    assert json.loads(written) == value
    assert json_parse(written) == written


def test_numbers_of_json_are_javas_doubles() -> None:
    assert json_parse("[1.10, 1e2, 1E10, 0.0001, 0.0]") == "[1.1,100.0,1.0E10,1.0E-4,0.0]"


@pytest.mark.parametrize("written", ["", "{", "[1,]", "NaN", "{'a': 1}"])
def test_what_is_no_json_is_an_error(written: str) -> None:
    with pytest.raises(ValueError, match="Cannot convert value to JSON"):
        json_parse(written)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1.5, "1.5E0"),
        (0.0, "0E0"),
        (-0.0, "-0E0"),
        (-123456.789, "-1.23456789E5"),
        (1e22, "1.0E22"),
        (0.00012, "1.2E-4"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_as_text(value: float, written: str) -> None:
    assert double_text(value) == written


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_double_is_that_double(value: float) -> None:
    assert float(double_text(value)) == value


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("written", [DEEP, f'{{"a": {"[" * 900 + "]" * 900}}}', f'{{"a": {"1" * 6000}}}'])
def test_json_that_no_engine_takes_is_none(written: str) -> None:
    assert json_extract(written, "$.a") is None
    assert json_extract_scalar(written, "$.a") is None
    with pytest.raises(ValueError, match="Cannot convert value to JSON"):
        json_parse(written)


@pytest.mark.parametrize(
    ("function", "answers"),
    [
        ("json_extract_scalar(x, '$.a')", ["?b", "ok"]),
        ("json_format(json_extract(x, '$.a'))", ['"?b"', '"ok"']),
        ("json_format(json_parse(x))", ['{"a":"?b"}', '{"a":"ok"}']),
    ],
)
def test_half_a_surrogate_in_one_row_does_not_end_the_statement(function: str, answers: list[str]) -> None:
    engine = Engine(MetadataCatalog(LOG_TABLES), "s3://kafkawarehouse", "streaming")
    rows = r"""(VALUES '{"a":"\ud800b"}', '{"a":"ok"}') AS t(x)"""
    [result] = engine.run(f"SELECT {function} FROM {rows}")  # noqa: S608
    assert [row[0] for row in result.rows] == answers


@pytest.mark.parametrize(
    ("arguments", "hexadecimal"),
    [
        ("2", "6263C3A4"),
        ("2, 2", "6263"),
        ("-2", "C3A4"),
        ("-4, 1", "62"),
        ("0", ""),
        ("9", ""),
        ("1, 0", ""),
        ("-9", ""),
        ("1, 9223372036854775807", "616263C3A4"),
    ],
)
@pytest.mark.parametrize("name", ["substr", "substring"])
def test_parts_of_bytes_are_counted_in_bytes(name: str, arguments: str, hexadecimal: str) -> None:
    assert computed(f"SELECT to_hex({name}(to_utf8('abcä'), {arguments}))") == [(hexadecimal,)]
