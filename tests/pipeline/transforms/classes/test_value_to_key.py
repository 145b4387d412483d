from __future__ import annotations

from tests.pipeline.transforms.chains import applied, chain, text


def test_the_key_has_copies() -> None:
    both = chain(
        ("HoistField$Value", {"field": "row"}),
        ("ValueToKey", {"fields": "row,none"}),
        ("ExtractField$Key", {"field": "row"}),
        ("MaskField$Key", {"fields": "a"}),
    )

    made = applied(both, b'{"a":1}')

    assert made is not None
    assert text(made.key) == b'{"a":0}'
    assert text(made.value) == b'{"row":{"a":1}}'
