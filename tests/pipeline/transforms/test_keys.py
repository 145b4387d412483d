from __future__ import annotations

import struct

import pytest

from frazil.declare.converters import READABLE_KEYS
from frazil.declare.registry_converters import REGISTRY_CONVERTERS
from frazil.pipeline.convert.strict import StageError
from frazil.pipeline.envelope import JsonEnvelope
from frazil.pipeline.transforms.keys import KeyConverter, key_reader
from frazil.pipeline.types import Typed
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
    assert text(key_reader(KeyConverter(converter))(key, (), "t")) == expected


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
        key_reader(KeyConverter(converter))(key, (), "t")
    assert error.value.origin == ("KEY_CONVERTER", converter)


def test_every_readable_converter_has_a_reader() -> None:
    plain = [converter for converter in READABLE_KEYS if converter not in REGISTRY_CONVERTERS]
    assert all(callable(key_reader(KeyConverter(converter))) for converter in plain)
    with pytest.raises(ValueError, match="cannot be read"):
        key_reader(KeyConverter(PREFIX + "ByteArrayConverter"))


CLASS = "org.apache.kafka.connect.json.JsonConverter"
DAY = b'{"type":"int32","name":"org.apache.kafka.connect.data.Date"}'


def test_keys_with_a_schema_keep_what_it_says() -> None:
    read = key_reader(KeyConverter(CLASS, JsonEnvelope(part="key")))
    key = read(b'{"schema":%s,"payload":19000}' % DAY, (), "t")
    assert isinstance(key, Typed)
    assert (bytes(key.raw), str(key.type)) == (b"19000", "date")
    struct = b'{"type":"struct","fields":[{"field":"d","type":"bytes","name":"%s","parameters":{"scale":"2"}}]}'
    found = key_reader(KeyConverter(CLASS, JsonEnvelope(struct % b"org.apache.kafka.connect.data.Decimal")))
    assert text(found(b'{"d":"AJw="}', (), "t")) == b'{"d":1.56}'
    assert read(b'{"schema":%s,"payload":null}' % DAY, (), "t") is None
    assert read(b'{"schema":null,"payload":null}', (), "t") is None
    with pytest.raises(StageError, match="Set key.converter.schemas.enable=false") as error:
        read(b"{}", (), "t")
    assert error.value.origin == ("KEY_CONVERTER", CLASS)
