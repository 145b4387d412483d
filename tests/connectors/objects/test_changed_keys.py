"""Keys that transformations change, in the objects of keys."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest

from tests.clients.registry.server import Registry, served
from tests.connectors.objects.samples import FORMAT
from tests.connectors.objects.test_task import TOLERANT, Disk
from tests.pipeline.kafka_rows import Row

TRANSFORMS = "org.apache.kafka.connect.transforms."
AVRO = "io.confluent.connect.avro.AvroConverter"
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
SALE = {
    "type": "record",
    "name": "Sale",
    "fields": [{"name": "id", "type": "int"}, {"name": "price", "type": PRICE}],
}
DATA = b"\0" + struct.pack(">i", 1) + b"\x0e\4\0\x9c"
"""id 7, price 1.56."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    with served({"/schemas/ids/1": {"schema": json.dumps(SALE)}, "/schemas/ids/1/versions": []}) as running:
        yield running


def keys(folder: Path, rows: list[Row], kind: str, *steps: tuple[str, dict[str, str]], **more: str) -> list[Any]:
    """What the objects of the keys have."""
    names = [f"s{number}" for number in range(len(steps))]
    chain = {"transforms": ",".join(names)}
    for name, (class_name, options) in zip(names, steps, strict=True):
        chain[f"transforms.{name}.type"] = TRANSFORMS + class_name
        chain |= {f"transforms.{name}.{key}": value for key, value in options.items()}
    form = {"store.kafka.keys": "true", "keys.format.class": FORMAT + kind, "flush.size": str(len(rows))}
    own = {name.replace("__", "."): value for name, value in more.items()}
    made = Disk(folder, **(TOLERANT | form | chain | own))
    assert made.run(rows).letters == []
    found: list[Any] = []
    for path in sorted(Path(made.store.folder).rglob("*.keys.*")):
        if path.suffix == ".json":
            found += [json.loads(line) for line in path.read_bytes().splitlines()]
        else:
            with path.open("rb") as file:
                found += fastavro.reader(file)
    return found


def test_a_key_of_fields_of_the_value_has_their_types(tmp_path: Path, registry: Registry) -> None:
    to_key = ("ValueToKey", {"fields": "price,id"})
    access = {"value__converter": AVRO, "value__converter__schema__registry__url": registry.url}
    rows = [Row(0, DATA, key=b"a"), Row(1, DATA, key=None)]
    whole = {"price": Decimal("1.56"), "id": 7}
    assert keys(tmp_path / "a", rows, "avro.AvroFormat", to_key, **access) == [whole] * 2
    price = ("ExtractField$Key", {"field": "price"})
    assert keys(tmp_path / "b", rows, "avro.AvroFormat", to_key, price, **access) == [whole["price"]] * 2
    assert keys(tmp_path / "c", rows, "json.JsonFormat", to_key, price, **access) == [1.56] * 2


def test_keys_are_changed_after_their_converter_has_read_them(tmp_path: Path) -> None:
    rows = [Row(0, b'{"n":1}', key=b'{"id":"7","x":1}'), Row(1, b'{"n":2}', key=b'{"id":"8","x":[]}')]
    steps = [("Cast$Key", {"spec": "id:int32"}), ("ReplaceField$Key", {"exclude": "x"})]
    found = keys(tmp_path / "a", rows, "json.JsonFormat", *steps, key__converter="JsonConverter",
                 key__converter__schemas__enable="false")  # fmt: skip
    assert found == [{"id": 7}, {"id": 8}]
    texts = [Row(0, b'{"n":1}', key=b"7")]
    assert keys(tmp_path / "b", texts, "json.JsonFormat", ("HoistField$Key", {"field": "k"})) == [{"k": "7"}]


def test_a_record_without_a_value_keeps_its_key(tmp_path: Path) -> None:
    rows = [Row(0, b'{"id":1}', key=b"a"), Row(1, None, key=b"b")]
    to_key = ("ValueToKey", {"fields": "id"})
    nulls = {"behavior__on__null__values": "write", "flush__size": "1"}
    assert keys(tmp_path, rows, "json.JsonFormat", to_key, **nulls) == [{"id": 1}, "b"]
