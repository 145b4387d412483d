from __future__ import annotations

import pytest

from tests.pipeline.transforms.chains import after


@pytest.mark.parametrize(
    ("value", "expected"),
    [(b"5", b'{"x":5}'), (b"[1, 2]", b'{"x":[1, 2]}'), (None, b'{"x":null}'), (b'{"a":1}', b'{"x":{"a":1}}')],
)
def test_the_value_becomes_a_field(value: bytes | None, expected: bytes) -> None:
    assert after(("HoistField$Value", {"field": "x"}), value) == expected
