"""Keys with schemas of a registry, where transformations read them."""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.pipeline.prepare import prepare
from frazil.pipeline.types import Struct
from frazil.pipeline.values import Prepared
from tests.clients.registry.server import Registry, served
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.transforms.chains import ICEBERG, config

AVRO = "io.confluent.connect.avro.AvroConverter"
GUID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
AT = {"type": "long", "logicalType": "timestamp-millis"}
KEY = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}, {"name": "at", "type": AT}]}
EVENT = b'{"op":"c","ts_ms":1,"source":{"schema":"s","table":"t"},"after":{"id":7}}'
BODY = b"\x0e\x02"
"""id 7, at 1."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    key = {"schema": json.dumps(KEY)}
    with served({"/schemas/ids/3": key, "/schemas/ids/3/versions": [], f"/schemas/guids/{GUID}": key}) as running:
        yield running


def prepared(registry: Registry, *rows: Row) -> Prepared:
    found = config(
        (ICEBERG + "DebeziumTransform", {}),
        key__converter=AVRO,
        key__converter__schema__registry__url=registry.url,
    )
    sink = iceberg_sink_config(found)
    assert sink.reads_schema_headers
    return prepare(chunk(rows), sink.transforms, envelope=sink.envelope)


def framed(number: int, body: bytes) -> bytes:
    return b"\0" + struct.pack(">i", number) + body


def test_a_key_keeps_the_types_of_its_schema(registry: Registry) -> None:
    header = ("__key_schema_id", b"\1" + GUID.bytes)
    found = prepared(registry, Row(0, EVENT, key=framed(3, BODY)), Row(1, EVENT, key=BODY, headers=(header,)))
    assert found.failed == []
    assert [json.loads(value or b"")["_cdc"]["key"] for value in found.values.values] == [{"id": 7, "at": 1}] * 2
    assert found.values.shapes is not None
    (shape,) = set(found.values.shapes)
    assert isinstance(shape, Struct)
    assert str(shape) == "struct<_cdc: struct<key: struct<id: int, at: timestamptz>>>"


def test_a_key_that_cannot_be_read_is_a_dead_letter_of_its_converter(registry: Registry) -> None:
    rows = [Row(0, EVENT, key=framed(4, BODY)), Row(1, EVENT, key=framed(3, b"")), Row(2, EVENT, key=None)]
    found = prepared(registry, *rows)
    assert [(index, getattr(error, "origin", None)) for index, error in found.failed] == [
        (0, ("KEY_CONVERTER", AVRO)),
        (1, ("KEY_CONVERTER", AVRO)),
    ]
    assert [error.reason[:40] for _, error in found.failed] == [
        "key: the registry has no schema with id ",
        "key: the record does not fit its schema ",
    ]
    assert len(found.values.values) == 1


def test_a_converter_of_keys_that_nobody_reads_asks_no_registry() -> None:
    sink = iceberg_sink_config(config(("HoistField$Value", {"field": "v"}), key__converter=AVRO))
    assert sink.transforms is not None
    assert (sink.key.envelope, sink.transforms.key) == (None, replace(sink.key, class_name=AVRO))
