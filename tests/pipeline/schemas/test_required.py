from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.schemas.required import check_required

INT, TEXT = {"type": "int32"}, {"type": "string", "optional": True}
INNER = {"type": "struct", "optional": True, "fields": [INT | {"field": "n"}, TEXT | {"field": "t"}]}
WHOLE: dict[str, Any] = {
    "type": "struct",
    "fields": [
        INT | {"field": "id"},
        INNER | {"field": "in"},
        {"type": "array", "items": INT, "optional": True, "field": "list"},
        {"type": "map", "keys": {"type": "string"}, "values": INNER, "optional": True, "field": "map"},
    ],
}


@pytest.mark.parametrize(
    ("payload", "missing"),
    [
        ({"id": 1}, None),
        ({"id": 2**70, "in": {"n": 1}, "list": [1], "map": {"a": None, "b": {"n": 0, "t": None}}, "more": None}, None),
        ({"id": None}, "INT32 field id"),
        ({}, "INT32 field id"),
        ({"id": 1, "in": {"t": "x"}}, "INT32 field in.n"),
        ({"id": 1, "list": [1, None]}, "INT32 field list[1]"),
        ({"id": 1, "map": {"b": {"n": None}}}, "INT32 field map.b.n"),
        ({"id": 1, "list": "no list", "map": [1]}, None),
        ("no object", None),
        (None, None),
    ],
)
def test_a_null_that_the_schema_does_not_allow_is_refused(payload: Any, missing: str | None) -> None:
    schema, text = json.dumps(WHOLE).encode(), json.dumps(payload).encode()
    if missing is None:
        check_required(schema, text)
        return
    with pytest.raises(ConversionError, match="Invalid null value for required") as refused:
        check_required(schema, text)
    assert refused.value.reason.endswith(missing)


@pytest.mark.parametrize("schema", [b"null", b"{", b'{"type": "int32"}', json.dumps(INNER | {"fields": []}).encode()])
def test_other_schemas_require_nothing(schema: bytes) -> None:
    check_required(schema, b'{"a": null}')
    check_required(schema, b"\xff")
