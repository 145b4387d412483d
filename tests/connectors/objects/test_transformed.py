"""Records with schemas that transformations changed, in objects with columns."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq

from frazil.connectors.objects.records import Schema
from frazil.connectors.objects.transformed import TransformedSchemas
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct
from tests.connectors.objects.samples import FORMAT
from tests.connectors.objects.test_task import Disk
from tests.pipeline.kafka_rows import Row

KAFKA = "org.apache.kafka.connect.transforms."
DAY = {"field": "day", "type": "int32", "name": "org.apache.kafka.connect.data.Date"}
PRICE: dict[str, Any] = {
    **{"field": "price", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal"},
    "parameters": {"scale": "2"},
}
INSIDE = {"field": "in", "type": "struct", "fields": [DAY, {"field": "x", "type": "float"}]}
FIELDS: list[dict[str, Any]] = [
    {"field": "id", "type": "int32"},
    DAY,
    PRICE,
    INSIDE,
    {"field": "gone", "type": "string"},
]
STEPS = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "true",
    "transforms": "drop,rename,place",
    "transforms.drop.type": f"{KAFKA}ReplaceField$Value",
    "transforms.drop.exclude": "gone",
    "transforms.rename.type": f"{KAFKA}ReplaceField$Value",
    "transforms.rename.renames": "day:born",
    "transforms.place.type": f"{KAFKA}InsertField$Value",
    "transforms.place.offset.field": "at",
    "transforms.place.static.field": "who",
    "transforms.place.static.value": "me",
}


def record(offset: int, fields: list[dict[str, Any]], **payload: Any) -> Row:
    fields = [{**field, "optional": True} for field in fields]
    return Row(offset, json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": payload}).encode())


ROWS = [
    record(0, FIELDS, id=1, day=1, price=None, **{"in": None}, gone="x"),
    record(1, FIELDS, id=2, day=None, price="AJw=", **{"in": {"day": 2, "x": 0.1}}, gone="x"),
]


def test_parquet_has_the_types_that_the_schema_says(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **STEPS, **{"format.class": FORMAT + "parquet.ParquetFormat", "flush.size": "2"})
    disk.run(ROWS)
    (path,) = Path(disk.store.folder).rglob("*.parquet")
    table = pq.read_table(path)
    assert {field.name: str(field.type) for field in table.schema} == {
        **{"id": "int32", "born": "date32[day]", "price": "decimal128(38, 2)"},
        **{"in": "struct<day: date32[day] not null, x: float not null>", "at": "int64", "who": "string"},
    }
    first, second = table.to_pylist()
    assert (first["born"], first["at"], str(second["price"])) == (dt.date(1970, 1, 2), 0, "1.56")
    assert (second["in"]["day"], second["who"]) == (dt.date(1970, 1, 3), "me")


def test_avro_has_the_types_that_the_schema_says(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **STEPS, **{"format.class": FORMAT + "avro.AvroFormat", "flush.size": "2"})
    disk.run(ROWS)
    (path,) = Path(disk.store.folder).rglob("*.avro")
    with path.open("rb") as file:
        first, second = list(fastavro.reader(file))
    assert (first["born"], str(second["price"]), second["at"]) == (dt.date(1970, 1, 2), "1.56", 1)  # type: ignore[index, call-overload]


def test_what_transforms_make_is_required_as_the_fields_before_were(tmp_path: Path) -> None:
    steps: dict[str, dict[str, str]] = {
        "Cast$Value": {"spec": "n:int64,m:string"},
        "TimestampConverter$Value": {"field": "at", "target.type": "string", "format": "yyyy"},
        "InsertField$Value": {"offset.field": "o!", "topic.field": "t?", "partition.field": "p"},
        "HoistField$Value": {"field": "whole"},
    }
    named = {f"transforms.s{n}.type": KAFKA + name for n, name in enumerate(steps)}
    keys = {f"transforms.s{n}.{key}": value for n, own in enumerate(steps.values()) for key, value in own.items()}
    changed = {**STEPS, "transforms": "s0,s1,s2,s3", **named, **keys}
    disk = Disk(tmp_path, **changed, **{"format.class": FORMAT + "avro.AvroFormat", "flush.size": "1"})
    fields = [
        {"field": "n", "type": "int32", "default": 7},
        {"field": "m", "type": "int32", "optional": True, "default": 7},
        {"field": "at", "type": "int64"},
    ]
    value = {"schema": {"type": "struct", "fields": fields}, "payload": {"n": 1, "m": 2, "at": 0}}
    disk.run([Row(0, json.dumps(value).encode())])
    (path,) = Path(disk.store.folder).rglob("*.avro")
    with path.open("rb") as file:
        written: Any = fastavro.reader(file).writer_schema
    (whole,) = written["fields"]
    types = {field["name"]: (field["type"], field.get("default")) for field in whole["type"]["fields"]}
    assert types == {
        "n": ({"type": "long", "connect.default": 7}, 7),
        "m": ([{"type": "string", "connect.default": "7"}, "null"], "7"),
        "at": ("string", None),
        "o": ("long", None),
        "t": (["null", "string"], None),
        "p": (["null", "int"], None),
    }


def test_another_schema_begins_another_object(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **STEPS, **{"format.class": FORMAT + "parquet.ParquetFormat", "flush.size": "2"})
    more = [*FIELDS, {"field": "new", "type": "int64"}]
    found = disk.run([*ROWS[:1], *(record(n, more, id=n, day=n, new=n, gone="") for n in (1, 2))])
    assert [each.count for each in found.objects] == [1, 2]


def test_values_of_one_shape_have_one_schema_until_they_show_more() -> None:
    schemas: list[Schema] = []
    found = TransformedSchemas(schemas)
    inner = Struct((Field("d", Scalar("date")),))
    shape = Struct((Field("a", List(inner)), Field("b", Map(STRING, inner)), Field("c", Scalar("time"))))
    assert found.number(b'{"c":1}', shape) == 0
    assert found.number(b'{"a":[{"d":1},null],"b":{"x":{"d":1},"y":null},"c":null}', shape) == 0
    assert found.number(b'{"a":[{"d":1,"e":"x"}]}', shape) == 1
    assert found.number(b'{"a":[{"d":1,"e":"y"}],"c":2}', shape) == 1
    assert [str(schema.struct) for schema in schemas] == [
        "struct<a: list<struct<d: date>>, b: map<string, struct<d: date>>, c: time>",
        "struct<a: list<struct<d: date, e: string>>, b: map<string, struct<d: date>>, c: time>",
    ]
    quoted = Struct((Field('a"b', Scalar("date")),))
    assert [found.number(b'{"a\\"b":1}', quoted) for _ in range(2)] == [2, 2]
