from __future__ import annotations

import struct
import uuid

import pytest

from frazil.clients.registry.schema import SchemaId
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.schemas.wire import Framing, Message

GUID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
ID = b"\0" + struct.pack(">i", 7)
CONFLUENT = Framing(messages=True)
APICURIO = Framing(kind="contentId", apicurio=True, messages=True)


@pytest.mark.parametrize(
    ("indexes", "message"),
    [
        (b"\0", (0,)),
        (b"\x02\0", (0,)),
        (b"\x02\x04", (2,)),
        (b"\x04\x02\x80\x02", (1, 128)),
    ],
)
def test_indexes_of_a_message_are_behind_the_id(indexes: bytes, message: Message) -> None:
    assert CONFLUENT.find(ID + indexes + b"\x0a", ()) == (SchemaId("id", 7), message, 5 + len(indexes))
    guid = b"\1" + GUID.bytes
    assert CONFLUENT.find(guid + indexes, ()) == (SchemaId("guid", str(GUID)), message, 17 + len(indexes))
    header = ("__value_schema_id", guid + indexes)
    assert CONFLUENT.find(b"\x0a", (header,)) == (SchemaId("guid", str(GUID)), message, 0)


def test_the_name_of_a_message_is_behind_apicurios_id() -> None:
    named = b"\x05\x0a\x03a.B"
    assert APICURIO.find(ID + named + b"x", ()) == (SchemaId("contentId", 7), "a.B", 11)
    header = ("apicurio.value.contentId", struct.pack(">q", 7))
    assert APICURIO.find(named + b"x", (header,)) == (SchemaId("contentId", 7), "a.B", 6)


@pytest.mark.parametrize(
    ("framing", "rest"),
    [
        (CONFLUENT, b""),
        (CONFLUENT, b"\x02"),
        (CONFLUENT, b"\x04\x02"),
        (CONFLUENT, b"\x01"),
        (CONFLUENT, b"\xfe\xff\xff\xff\x0f"),
        (CONFLUENT, b"\xff\xff\xff\xff\xff\xff"),
        (APICURIO, b""),
        (APICURIO, b"\x05\x0a\x03a"),
        (APICURIO, b"\x02\x0a\x01"),
        (APICURIO, b"\x03\x0a\x01\xff"),
        (APICURIO, b"\0"),
    ],
)
def test_a_record_that_does_not_say_its_message_is_refused(framing: Framing, rest: bytes) -> None:
    with pytest.raises(ConversionError):
        framing.find(ID + rest, ())
