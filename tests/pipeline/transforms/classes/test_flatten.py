from __future__ import annotations

import pytest

from tests.pipeline.transforms.chains import after, applied, chain, text


@pytest.mark.parametrize(
    ("delimiter", "value", "expected"),
    [
        (".", b'{"a":null,"b":{"c":1.50,"d":[1, 2]},"e":{}}', b'{"a":null,"b.c":1.50,"b.d":[1, 2]}'),
        ("_", b'{"a":{"b":{"c":{"d":"x"}}}}', b'{"a_b_c_d":"x"}'),
        (".", b'{"a.b":1,"a":{"b":2}}', b'{"a.b":2}'),
        (".", None, None),
    ],
)
def test_members_are_lifted_to_the_top(delimiter: str, value: bytes | None, expected: bytes | None) -> None:
    assert after(("Flatten$Value", {"delimiter": delimiter}), value) == expected


def test_it_lifts_what_another_transformation_has_nested() -> None:
    both = chain(("HoistField$Value", {"field": "row"}), ("Flatten$Value", {"delimiter": "_"}))

    made = applied(both, b'{"a":{"b":1}}')

    assert made is not None
    assert text(made.value) == b'{"row_a_b":1}'
