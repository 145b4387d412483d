from __future__ import annotations

import pytest

from tests.pipeline.transforms.chains import after


@pytest.mark.parametrize(
    ("keys", "value", "expected"),
    [
        ({"field": "a"}, b'{"a":{"b":1.0}}', b'{"b":1.0}'),
        ({"field": "a"}, b'{"b":1}', None),
        ({"field": "a"}, None, None),
        ({"field": "a.b"}, b'{"a.b":5}', b"5"),
        ({"field": "a.b", "field.syntax.version": "V2"}, b'{"a":{"b":5}}', b"5"),
        ({"field": "`a.b`.c", "field.syntax.version": "v2"}, b'{"a.b":{"c":5}}', b"5"),
        ({"field": "a.b.c", "field.syntax.version": "V2"}, b'{"a":null}', None),
    ],
)
def test_a_field_takes_the_place_of_the_value(
    keys: dict[str, str], value: bytes | None, expected: bytes | None
) -> None:
    assert after(("ExtractField$Value", keys), value) == expected
