"""Which changes of a schema the rules of evolution take."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.schema_changes import refusals, tightened


def of(required: tuple[str, ...] = (), more: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties, **(more or {})}


STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (of(a=STRING), of(a=STRING, b=INTEGER), []),
        (of(a=STRING, b=INTEGER), of(a=STRING), []),
        (of(a=INTEGER), of(a=NUMBER), []),
        (of(a=NUMBER), of(a=INTEGER), ["field a may not be number"]),
        (of(a=STRING), of(a=INTEGER), ["field a may not be string"]),
        (of(a=STRING), of(a={"type": ["string", "null"]}), []),
        (of(), of(("a",), a=STRING), ["field a is required"]),
        (of(("a",), a=STRING), of(a=STRING), []),
        (of(a=of(b=STRING)), of(a=of(("b",), b=STRING)), ["field a.b is required"]),
        (of(a={"items": STRING}), of(a={"items": INTEGER}), ["field a[] may not be string"]),
        (of(a={"enum": [1, 2]}), of(a={"enum": [2, 3]}), ["field a may not be 1"]),
        (of(a=STRING), of(a={"type": "string", "enum": ["x"]}), ["field a may only be one of 1 values"]),
        (of(a={"enum": ["x"]}), of(a={"type": "string", "const": "x"}), []),
        (of(a={"maximum": 5}), of(a={"maximum": 4}), ["field a has maximum 4"]),
        (of(a={"maximum": 5}), of(a={"maximum": 6}), []),
        (of(a={"minLength": 1}), of(a={"minLength": 2}), ["field a has minLength 2"]),
        (of(a=INTEGER), of(a={"type": "integer", "minimum": 0}), ["field a has minimum 0"]),
        (of(a={"multipleOf": 4}), of(a={"multipleOf": 2}), []),
        (of(a={"multipleOf": 2}), of(a={"multipleOf": 4}), ["field a has to be a multiple of 4"]),
        (of(a=STRING), of(a={"type": "string", "format": "date"}), ["field a has to have format date"]),
        (of(a={"pattern": "x"}), of(a={}), []),
        (of(a=STRING), of(more={"additionalProperties": False}, a=STRING), ["a record may have no other fields"]),
        (of(more={"additionalProperties": False}), of(), []),
        (of(a=STRING), of(more={"additionalProperties": False}), ["field a is not allowed", "a record may have no"]),
        (of(), of(more={"additionalProperties": STRING}), ["field * may not be array or boolean or null or number or"]),
        (of(more={"additionalProperties": INTEGER}), of(a=STRING), ["field a may not be integer"]),
        (of(a={"uniqueItems": False}), of(a={"uniqueItems": True}), ["field a may have no two equal items"]),
        (of(a={"anyOf": [STRING]}), of(a={"anyOf": [INTEGER]}), ["field a: anyOf differs, which cannot be compared"]),
        (of(a={"exclusiveMaximum": True}), of(a={"exclusiveMaximum": 4}), ["field a: exclusiveMaximum differs"]),
        (of(a={"title": "x"}), of(a={"title": "y", "description": "z"}), []),
        (True, False, ["a record is not allowed"]),
        (False, of(("a",)), []),
    ],
)
def test_what_is_tighter(old: Any, new: Any, expected: list[str]) -> None:
    found = tightened(old, new)
    assert len(found) == len(expected), found
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True)), found


def test_rules() -> None:
    optional, required = of(a=STRING), of(("a",), a=STRING)
    assert refusals(optional, required, "NONE") == refusals(required, optional, "BACKWARD") == []
    assert refusals(optional, required, "FORWARD") == []
    (backward,) = refusals(optional, required, "BACKWARD")
    assert backward == "field a is required, so records that were valid are not any more"
    (forward,) = refusals(required, optional, "FORWARD")
    assert forward.startswith("field a is required in the schema before")
    assert len(refusals(optional, required, "FULL")) == len(refusals(required, optional, "FULL")) == 1


def test_references_lead_into_their_own_schema() -> None:
    old = {"$ref": "#/$defs/t", "$defs": {"t": of(next={"$ref": "#/$defs/t"}, a=STRING)}}
    new = {"$ref": "#/$defs/t", "$defs": {"t": of(next={"$ref": "#/$defs/t"}, a=INTEGER)}}
    assert tightened(old, old) == []
    assert tightened(old, new)[0] == "field a may not be string"


def test_references_in_a_circle_are_no_restriction() -> None:
    circle = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    assert tightened({"type": "string"}, circle) == []
    assert tightened({"$ref": "#"}, {"$ref": "#", "title": "x"}) == []


_SCALARS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": ["null", "string"]},
        {"enum": [1, "x"]},
        {"minimum": 2},
        {"maxLength": 1},
        {},
        True,
    ]
)
_SCHEMAS = st.builds(
    lambda properties, required, closed: {
        "properties": properties,
        "required": sorted(required),
        **({"additionalProperties": False} if closed else {}),
    },
    st.dictionaries(st.sampled_from("ab"), _SCALARS),
    st.sets(st.sampled_from("ab")),
    st.booleans(),
)
_VALUES = st.dictionaries(st.sampled_from("ab"), st.sampled_from([None, 1, 2.5, 3, "x", "yy", True]))


@given(_SCHEMAS, _SCHEMAS, _VALUES)
def test_what_is_not_tighter_takes_what_was_valid(old: Any, new: Any, value: Any) -> None:
    named = {name: one for name, one in value.items() if name in old["properties"]}
    if not tightened(old, new) and jsonschema_rs.is_valid(old, named):
        assert jsonschema_rs.is_valid(new, named)
