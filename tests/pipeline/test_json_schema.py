"""Records that are valid by a JSON Schema, and why others are not."""

from __future__ import annotations

import json

import pytest

from frazil.errors import ConfigError
from frazil.pipeline.json_schema import checker, column_path, parse_schema

SCHEMA = b"""{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "required": ["user_id", "event_type", "timestamp"],
  "properties": {
    "user_id": {"type": "integer"},
    "event_type": {"type": "string"},
    "timestamp": {"type": "string", "format": "date-time"},
    "properties": {"type": "object"}
  }
}"""
GOOD = {"user_id": 1, "event_type": "click", "timestamp": "2026-03-01T00:00:00Z"}


def reasons(schema: bytes, *values: bytes | None, formats: bool = False) -> list[tuple[int, str, str]]:
    return [(index, error.path, error.reason) for index, error in checker(schema, formats=formats)(values)]


def of(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def test_records_by_a_schema() -> None:
    assert reasons(SCHEMA, of(), of(more=1), None, b"null") == []
    found = reasons(SCHEMA, of(), of(user_id="x"), b"{}", b"[]")
    assert found == [
        (1, "user_id", 'not valid by the schema: "x" is not of type "integer"'),
        (2, "", 'not valid by the schema: "user_id" is a required property (and 2 more)'),
        (3, "", 'not valid by the schema: [] is not of type "object"'),
    ]


def test_formats_are_checked_on_request() -> None:
    wrong = of(timestamp="yesterday")
    assert reasons(SCHEMA, wrong) == []
    ((_, path, reason),) = reasons(SCHEMA, wrong, formats=True)
    assert (path, reason) == ("timestamp", 'not valid by the schema: "yesterday" is not a "date-time"')


def test_what_is_no_json_is_told_by_others_and_what_cannot_be_checked_is_refused() -> None:
    assert reasons(SCHEMA, b"{", b"", b"\xff", b'"\xff"') == []
    ((index, _, reason),) = reasons(b'{"type":"object"}', b'{"x":1e999}')
    assert (index, reason.startswith("the value cannot be checked by its schema")) == (0, True)


@pytest.mark.parametrize("number", [1 << 63, 1 << 64, 10**40, -(10**40)])
def test_whole_numbers_of_any_size(number: int) -> None:
    schema = b'{"properties":{"n":{"type":"integer","maximum":%d}}}' % (10**41)
    assert reasons(schema, b'{"n":%d}' % number) == []
    assert len(reasons(schema, b'{"n":%d}' % 10**42)) == 1


def test_paths_and_long_values() -> None:
    assert column_path(["a", 0, "b", "c", 12]) == "a[0].b.c[12]"
    schema = b'{"properties":{"a":{"items":{"properties":{"b":{"type":"null"}}}}}}'
    ((_, path, reason),) = reasons(schema, b'{"a":[{},{"b":"%s"}]}' % (b"x" * 5000))
    assert path == "a[1].b"
    assert reason.endswith('xxx" is not of type "null"')
    assert len(reason) < 220


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07", "2019-09", "2020-12"])
def test_drafts(draft: str) -> None:
    uri = f"http://json-schema.org/{draft}/schema#" if draft < "2" or "draft" in draft else ""
    uri = uri or f"https://json-schema.org/draft/{draft}/schema"
    schema = json.dumps({"$schema": uri, "$ref": "#/definitions/x", "definitions": {"x": {"type": "string"}}}).encode()
    assert reasons(schema, b'"a"', b"1")[0][0] == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"{", "it is not JSON"),
        (b"[]", "a schema is an object"),
        (b'{"version":1,"connectors":{}}', "with a keyword of JSON Schema"),
        (b'{"type":"secret"}', "it is no valid schema: JSON Schema has no such value at type$"),
        (b'{"pattern":"("}', "it is no valid schema: JSON Schema has no such value at pattern$"),
        (b'{"$ref":"#/definitions/no"}', "it is no valid schema"),
        (b'{"$ref":"http://127.0.0.1:9/x.json"}', "is in another file"),
        (b'{"$ref":"file:///etc/passwd"}', "is in another file"),
    ],
)
def test_schemas_that_cannot_be_used(text: bytes, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected) as error:
        parse_schema(text)
    assert "secret" not in str(error.value)
    with pytest.raises(ConfigError):
        checker(text, formats=True)
