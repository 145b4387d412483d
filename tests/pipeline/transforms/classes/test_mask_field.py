from __future__ import annotations

import pytest

from frazil.pipeline.convert.strict import StageError
from tests.pipeline.transforms.chains import after, applied, chain, text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"a":1.5}', b'{"a":0.0}'),
        (b'{"a":1}', b'{"a":0}'),
        (b'{"a":"x"}', b'{"a":""}'),
        (b'{"a":true}', b'{"a":false}'),
        (b'{"a":{"x":1}}', b'{"a":{}}'),
        (b'{"a":[1]}', b'{"a":[]}'),
        (b'{"a":null,"b":1}', b'{"a":null,"b":1}'),
        (b'{"b":1}', b'{"b":1}'),
        (None, None),
    ],
)
def test_a_value_loses_its_meaning_and_keeps_its_kind(value: bytes | None, expected: bytes | None) -> None:
    assert after(("MaskField$Value", {"fields": "a"}), value) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [("Date", b'"1970-01-01"'), ("Time", b'"00:00:00"'), ("Timestamp", b'"1970-01-01T00:00:00Z"')],
)
def test_a_time_of_another_transformation_stays_one(target: str, expected: bytes) -> None:
    converted = ("TimestampConverter$Value", {"field": "a", "target.type": target})
    made = applied(chain(converted, ("MaskField$Value", {"fields": "a"})), b'{"a":1700000000123}')
    assert made is not None
    assert text(made.value) == b'{"a":' + expected + b"}"


@pytest.mark.parametrize(
    ("replacement", "value", "expected"),
    [
        ("7.5", b'{"a":1}', b'{"a":7}'),
        ("7.5", b'{"a":1.5}', b'{"a":7.5}'),
        ("7.5", b'{"a":"x"}', b'{"a":"7.5"}'),
        ("***", b'{"a":"x"}', b'{"a":"***"}'),
    ],
)
def test_a_replacement_stands_for_texts_and_numbers(replacement: str, value: bytes, expected: bytes) -> None:
    assert after(("MaskField$Value", {"fields": "a", "replacement": replacement}), value) == expected


@pytest.mark.parametrize("value", [b'{"a":1}', b'{"a":true}', b'{"a":[1]}', b'{"a":{}}'])
def test_a_replacement_that_cannot_stand_for_a_value_is_an_error(value: bytes) -> None:
    with pytest.raises(StageError, match="transformation t0: a is"):
        after(("MaskField$Value", {"fields": "a", "replacement": "***"}), value)
