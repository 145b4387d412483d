from __future__ import annotations

import struct

import pytest

from frazil.declare.converters import READABLE_KEYS
from frazil.pipeline.transforms.keys import key_reader
from frazil.pipeline.transforms.record import StageError
from tests.pipeline.transforms.chains import text

PREFIX = "org.apache.kafka.connect.converters."


@pytest.mark.parametrize(
    ("converter", "key", "expected"),
    [
        ("org.apache.kafka.connect.storage.StringConverter", 'ä"'.encode(), '"ä\\""'.encode()),
        ("org.apache.kafka.connect.json.JsonConverter", b' {"a":1.50} ', b'{"a":1.50}'),
        ("org.apache.kafka.connect.json.JsonConverter", b"null", None),
        (PREFIX + "LongConverter", struct.pack(">q", -5), b"-5"),
        (PREFIX + "IntegerConverter", struct.pack(">i", 7), b"7"),
        (PREFIX + "ShortConverter", struct.pack(">h", 7), b"7"),
        (PREFIX + "DoubleConverter", struct.pack(">d", 0.1), b"0.1"),
        (PREFIX + "FloatConverter", struct.pack(">f", 0.5), b"0.5"),
        (PREFIX + "BooleanConverter", b"\1", b"true"),
    ],
)
def test_keys_as_json(converter: str, key: bytes, expected: bytes | None) -> None:
    assert text(key_reader(converter)(key)) == expected


@pytest.mark.parametrize(
    ("converter", "key"),
    [
        ("org.apache.kafka.connect.storage.StringConverter", b"\xff"),
        ("org.apache.kafka.connect.json.JsonConverter", b"{"),
        (PREFIX + "LongConverter", b"1234"),
        (PREFIX + "BooleanConverter", b"\2"),
    ],
)
def test_bytes_that_are_no_key(converter: str, key: bytes) -> None:
    with pytest.raises(StageError, match="key: ") as error:
        key_reader(converter)(key)
    assert error.value.origin == ("KEY_CONVERTER", converter)


def test_every_readable_converter_has_a_reader() -> None:
    assert all(callable(key_reader(converter)) for converter in READABLE_KEYS)
    with pytest.raises(ValueError, match="cannot be read"):
        key_reader(PREFIX + "ByteArrayConverter")
