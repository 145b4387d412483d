"""Texts that are quoted, and text that leaves as it came."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.objects.formats.text import base64_texts, header_texts, json_texts, quoted_texts


def lines(*values: bytes | None) -> list[bytes | None]:
    texts, failed = json_texts(values)
    assert failed == []
    found: list[bytes | None] = texts.to_pylist()
    return found


@pytest.mark.parametrize(
    "value",
    [
        b'{"a":"","b":null}',
        b'{"a":1,"a":2}',
        b'{ "n" : 1.10e+2 , "m":123456789012345678901234567890 }',
        b'"text"',
        b"1.0",
        b"[1, 2]",
        '{"ä":"\\u00e4\\n"}'.encode(),
        b"true",
    ],
)
def test_text_leaves_as_it_came(value: bytes) -> None:
    assert lines(value) == [value]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (b'{\n  "a": 1,\r\n  "b": [\n1,\n2]}\n', b'{  "a": 1,  "b": [1,2]}'),
        (b"\n1\n", b"1"),
        (b'{"a":"x\\ny"}\r\n', b'{"a":"x\\ny"}'),
    ],
)
def test_line_breaks_between_tokens_are_left_out(value: bytes, line: bytes) -> None:
    assert lines(value) == [line]


def test_null_is_no_value() -> None:
    assert lines(b"null", None, b" null", b"\t\r\nnull \n", b'"null"', b'" null"', b"  1") == [
        *[None] * 4,
        b'"null"',
        b'" null"',
        b"  1",
    ]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "the value is empty"),
        (b"  ", "the value is empty"),
        (b"{", "the value is not JSON"),
        (b'{"a":1}{"b":2}', "the value is not JSON"),
        (b'{"a":"\n"}', "the value is not JSON"),
        (b'{"a":01}', "the value is not JSON"),
        (b"nul", "the value is not JSON"),
        (b"NaN", "the value is not JSON"),
        (b'{"a":"\xff"}', "the value is not UTF-8 (byte 6)"),
        (b"\xff\xfe", "the value is not UTF-8 (byte 0)"),
        (b"[" * 100_000, "the value is nested too deeply"),
    ],
)
def test_what_is_not_json_changes_nothing_for_its_neighbours(value: bytes, reason: str) -> None:
    texts, failed = json_texts([b"1", value, None, value, b"2"])
    assert texts.to_pylist() == [b"1", None, None, None, b"2"]
    assert [index for index, _ in failed] == [1, 3]
    assert all(error.reason.startswith(reason) for _, error in failed)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(JSON, max_size=5), st.sampled_from([None, 1, 4]))
def test_values_stay_what_they_are(values: list[object], indent: int | None) -> None:
    texts = [json.dumps(value, indent=indent).encode() for value in values]
    found = lines(*texts)
    assert [None if line is None else json.loads(line) for line in found] == values
    assert all(b"\n" not in (line or b"") for line in found)


def test_texts_are_quoted() -> None:
    texts, failed = quoted_texts([b'{"a":1}', None, b"\xff", "ä\n".encode()])
    assert texts.to_pylist() == [b'"{\\"a\\":1}"', None, None, '"ä\\n"'.encode()]
    assert [index for index, _ in failed] == [2]


def test_bytes_in_json() -> None:
    assert base64_texts([b"\x00\x9c", None]) == (pa.array([b'"AJw="', None], pa.binary()), [])


def test_headers() -> None:
    texts, failed = header_texts([(("a", b"x"), ("b", None)), (), (("a", b"\xff"),)])
    assert texts.to_pylist() == [b'{"headers":[{"key":"a","value":"x"},{"key":"b","value":null}]}', None, None]
    assert [index for index, _ in failed] == [2]
