from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.envelope import JsonEnvelope
from frazil.pipeline.schemas.defaults import filled


def of(type_: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "optional": True, **more}


def struct(**fields: dict[str, Any]) -> dict[str, Any]:
    return of("struct", fields=[{**schema, "field": name} for name, schema in fields.items()])


def after(schema: dict[str, Any], payload: Any) -> Any:
    return json.loads(filled(json.dumps(schema).encode(), json.dumps(payload).encode()))


N = of("int64", default=7)


@pytest.mark.parametrize(
    ("schema", "payload", "expected"),
    [
        (struct(n=N, s=of("string")), {"n": None, "s": None}, {"n": 7, "s": None}),
        (struct(n=N), {}, {"n": 7}),
        (struct(n=N), {"n": 0}, {"n": 0}),
        (struct(n=of("int64", default=None)), {"n": None}, {"n": None}),
        (struct(s=struct(n=N)), {"s": {"n": None}}, {"s": {"n": 7}}),
        (struct(s=struct(n=N)), {"s": None}, {"s": None}),
        (struct(s={**struct(n=N), "default": {}}), {"s": None}, {"s": {"n": 7}}),
        (of("array", items=N), [None, 1], [7, 1]),
        (of("map", keys=of("string"), values=N), {"a": None, "b": 1}, {"a": 7, "b": 1}),
        (of("map", keys=of("int32"), values=N), [[1, None], [2, 1]], [[1, 7], [2, 1]]),
        (struct(n=N), None, None),
        (struct(n=N), [1], [1]),
        (N, None, 7),
    ],
)
def test_a_null_takes_the_default_of_its_schema(schema: dict[str, Any], payload: Any, expected: Any) -> None:
    assert after(schema, payload) == expected


def test_a_payload_that_lacks_nothing_stays_as_it_is_written() -> None:
    schema, payload = json.dumps(struct(n=N, d=of("double"))).encode(), b'{ "n":1, "d":1.00 }'
    assert filled(schema, payload) is payload
    assert filled(b"null", payload) is payload


def test_what_cannot_be_read_says_why() -> None:
    with pytest.raises(ConversionError, match="the payload is not what its schema says"):
        filled(json.dumps(struct(n=N)).encode(), b'{"n"')
    with pytest.raises(ConversionError, match="the schema of the record cannot be read"):
        filled(b"5", b"{}")


def test_what_defaults_add_to_a_record_is_bounded() -> None:
    long = of("array", items=of("string", default="x" * 100_000))
    with pytest.raises(ConversionError, match="longer by more than"):
        filled(json.dumps(struct(l=long)).encode(), b'{"l":[%b]}' % b",".join([b"null"] * 100_000))


def test_the_converter_of_json_fills_in_unless_it_is_told_otherwise() -> None:
    value = json.dumps({"schema": struct(n=N), "payload": {"n": None}}).encode()
    assert JsonEnvelope().split(value, (), "t")[1] == b'{"n":7}'
    assert JsonEnvelope(defaults=False).split(value, (), "t")[1] == b'{"n": null}'
    content = json.dumps(struct(n=N)).encode()
    assert JsonEnvelope(content).split(b" {} ", (), "t") == (content, b'{"n":7}')
