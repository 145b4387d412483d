from __future__ import annotations

import pytest

from tests.pipeline.transforms.chains import after


@pytest.mark.parametrize(
    ("keys", "value", "expected"),
    [
        ({"exclude": "b"}, b'{"a":1,"b":2}', b'{"a":1}'),
        ({"include": "a,b"}, b'{"a":1,"b":2,"c":3}', b'{"a":1,"b":2}'),
        ({"include": "a,b", "exclude": "b", "renames": "a:z"}, b'{"a":1,"b":2,"c":3}', b'{"z":1}'),
        ({"renames": "a:b,b:a"}, b'{"a":1,"b":2}', b'{"b":1,"a":2}'),
        ({"exclude": "x"}, b' {"a" : 1.50} ', b'{"a":1.50}'),
        ({"exclude": "x"}, None, None),
        ({"exclude": "x"}, b"null", None),
    ],
)
def test_fields_are_left_out_kept_and_renamed(
    keys: dict[str, str], value: bytes | None, expected: bytes | None
) -> None:
    assert after(("ReplaceField$Value", keys), value) == expected
