"""Records with schemas of a registry, in objects of every format."""

from __future__ import annotations

import datetime as dt
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from frazil.connectors.objects.config.delta_keys import DELTA_FORMAT
from frazil.connectors.objects.formats.delta import TableColumns
from frazil.pipeline.types import Struct
from tests.clients.registry.server import Registry, served
from tests.connectors.objects.samples import FORMAT
from tests.connectors.objects.test_task import TOLERANT, Disk
from tests.pipeline.kafka_rows import Row

FIELDS: list[dict[str, Any]] = [
    {"name": "n", "type": "int"},
    {"name": "f", "type": "float"},
    {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
]
OLD = {"type": "record", "name": "R", "fields": FIELDS}
NEW = {"type": "record", "name": "R", "fields": [*FIELDS, {"name": "s", "type": ["null", "string"]}]}
DAY = {"type": "record", "name": "k.Day", "fields": [{"name": "day", "type": {"type": "int", "logicalType": "date"}}]}
ONE = b"\2" + struct.pack("<f", 0.1) + b"\4\0\x9c"
TWO = ONE + b"\2\2x"
"""n 1, f 0.1, d 1.56, and s x."""


def framed(number: int, data: bytes) -> bytes:
    return b"\0" + struct.pack(">i", number) + data


@pytest.fixture
def registry() -> Iterator[Registry]:
    answers: dict[str, Any] = {}
    for number, schema in ((1, OLD), (2, NEW)):
        answers[f"/schemas/ids/{number}"] = {"schema": json.dumps(schema)}
        answers[f"/schemas/ids/{number}/versions"] = [{"subject": "t-value", "version": number}]
    for number, key in ((4, DAY), (5, {"type": "int", "logicalType": "date"}), (6, "string")):
        answers[f"/schemas/ids/{number}"] = {"schema": json.dumps(key)}
        answers[f"/schemas/ids/{number}/versions"] = []
    with served(answers) as running:
        yield running


def disk(folder: Path, registry: Registry, **more: str) -> Disk:
    return Disk(
        folder,
        **{
            "value.converter": "io.confluent.connect.avro.AvroConverter",
            "value.converter.schema.registry.url": registry.url,
            "flush.size": "2",
            **more,
        },
    )


def test_json(tmp_path: Path, registry: Registry) -> None:
    made = disk(tmp_path, registry, **{"json.decimal.format": "NUMERIC"})
    made.run([Row(0, framed(1, ONE)), Row(1, framed(1, ONE))])
    ((first, _),) = made.lines().values()
    assert first == b'{"n":1,"f":0.1,"d":1.56}'


def test_parquet(tmp_path: Path, registry: Registry) -> None:
    made = disk(tmp_path, registry, **{"format.class": FORMAT + "parquet.ParquetFormat"})
    made.run([Row(0, framed(2, TWO)), Row(1, framed(2, TWO))])
    (path,) = Path(made.store.folder).rglob("*.parquet")
    table = pq.read_table(path)
    assert [str(field.type) for field in table.schema] == ["int32", "float", "decimal128(38, 2)", "string"]
    assert str(table.to_pylist()[0]["d"]) == "1.56"


def test_avro(tmp_path: Path, registry: Registry) -> None:
    made = disk(tmp_path, registry, **{"format.class": FORMAT + "avro.AvroFormat"})
    made.run([Row(0, framed(2, TWO)), Row(1, framed(2, TWO))])
    (path,) = Path(made.store.folder).rglob("*.avro")
    with path.open("rb") as file:
        rows: list[Any] = list(fastavro.reader(file))
    assert [(row["n"], str(row["d"]), row["s"]) for row in rows] == [(1, "1.56", "x")] * 2


def written(folder: Path, suffix: str = "*.avro") -> dict[str, Any]:
    """The schema of the only file."""
    (path,) = folder.rglob(suffix)
    with path.open("rb") as file:
        schema: Any = fastavro.reader(file).writer_schema
    return schema  # type: ignore[no-any-return]


CONNECT_DEFAULT = "io.confluent.connect.avro.ConnectDefault"


@pytest.mark.parametrize(
    ("step", "name", "version"),
    [
        ({"type": "ReplaceField$Value", "exclude": "s"}, "R", 2),
        ({"type": "SetSchemaMetadata$Value", "schema.name": "a.Other"}, "a.Other", 2),
        ({"type": "SetSchemaMetadata$Value", "schema.version": "9"}, "R", 9),
        ({"type": "HoistField$Value", "field": "h"}, CONNECT_DEFAULT, None),
    ],
)
def test_avro_of_changed_records_has_name_and_version_of_their_schema(
    tmp_path: Path, registry: Registry, step: dict[str, str], name: str, version: int | None
) -> None:
    keys = {f"transforms.a.{key}": value for key, value in step.items()}
    keys |= {"transforms": "a", "transforms.a.type": f"org.apache.kafka.connect.transforms.{step['type']}"}
    made = disk(tmp_path, registry, **{"format.class": FORMAT + "avro.AvroFormat"}, **keys)
    made.run([Row(0, framed(2, TWO)), Row(1, framed(2, TWO))])
    schema = written(Path(made.store.folder))
    assert (schema["name"], schema.get("connect.version")) == (name, version)
    if name == CONNECT_DEFAULT:
        inner = schema["fields"][0]["type"]
        assert (inner["connect.name"], inner["connect.version"]) == ("R", 2)


@pytest.mark.parametrize(("flag", "told"), [("true", ("R", 2)), ("false", (None, None))])
def test_avro_has_connects_names_unless_they_are_not_wanted(
    tmp_path: Path, registry: Registry, flag: str, told: tuple[str | None, int | None]
) -> None:
    made = disk(tmp_path, registry, **{"format.class": FORMAT + "avro.AvroFormat", "connect.meta.data": flag})
    made.run([Row(0, framed(2, TWO)), Row(1, framed(2, TWO))])
    schema = written(Path(made.store.folder))
    assert (schema["name"], (schema.get("connect.name"), schema.get("connect.version"))) == ("R", told)


def test_a_transform_names_the_schema_of_keys(tmp_path: Path, registry: Registry) -> None:
    step = {"type": "org.apache.kafka.connect.transforms.SetSchemaMetadata$Key", "schema.name": "a.Key"}
    made = disk(
        tmp_path,
        registry,
        **{
            "key.converter": "io.confluent.connect.avro.AvroConverter",
            "key.converter.schema.registry.url": registry.url,
            "store.kafka.keys": "true",
            "keys.format.class": FORMAT + "avro.AvroFormat",
            "flush.size": "1",
            "transforms": "a",
            **{f"transforms.a.{key}": value for key, value in step.items()},
        },
    )
    made.run([Row(0, framed(1, ONE), key=framed(4, b"\2"))])
    schema = written(Path(made.store.folder), "*.keys.avro")
    assert (schema["name"], schema["fields"][0]["name"]) == ("a.Key", "day")


FORMATS = (FORMAT + "json.JsonFormat", FORMAT + "avro.AvroFormat", FORMAT + "parquet.ParquetFormat", DELTA_FORMAT)


def refused(disk: Disk, *values: bytes) -> dict[int, str]:
    """Reasons of dead letters by offset."""
    rows = [Row(offset, value) for offset, value in enumerate(values)]
    columns = TableColumns(Struct(()), evolves=True) if disk.config.delta else None
    return {letter.offset: letter.reason for letter in disk.run(rows, columns=columns).letters}


@pytest.mark.parametrize("format_", FORMATS)
def test_a_record_of_a_recursive_schema_is_a_dead_letter_alone(
    tmp_path: Path, registry: Registry, format_: str
) -> None:
    tree = {"type": "record", "name": "Tree", "fields": [{"name": "child", "type": ["null", "Tree"]}]}
    registry.answers["/schemas/ids/8"] = {"schema": json.dumps(tree)}
    found = refused(disk(tmp_path, registry, **TOLERANT, **{"format.class": format_}), framed(1, ONE), framed(8, b"\0"))
    assert list(found) == [1] and "Tree is inside of itself, which no column can hold" in found[1]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_null_for_a_required_field_is_a_dead_letter_alone(tmp_path: Path, format_: str) -> None:
    converter = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
    }
    fields = [{"field": "n", "type": "int32"}, {"field": "s", "type": "string", "optional": True}]
    schema = {"type": "struct", "fields": fields}
    payloads: list[Any] = [{"n": 1, "s": None}, {"n": None}, {}, {"n": 2}]
    made = Disk(tmp_path, **TOLERANT, **converter, **{"format.class": format_, "flush.size": "2"})
    found = refused(made, *(json.dumps({"schema": schema, "payload": payload}).encode() for payload in payloads))
    assert found == dict.fromkeys((1, 2), "Invalid null value for required INT32 field n")


@pytest.mark.parametrize("step", [None, "ReplaceField$Value", "Flatten$Value", "MaskField$Value", "HoistField$Value"])
@pytest.mark.parametrize("format_", ["avro.AvroFormat", "parquet.ParquetFormat"])
def test_fields_are_required_as_their_schema_has_them_behind_transforms_too(
    tmp_path: Path, format_: str, step: str | None
) -> None:
    converter = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
    }
    inside: list[dict[str, Any]] = [{"field": "x", "type": "int32"}, {"field": "y", "type": "int32", "optional": True}]
    fields: list[dict[str, Any]] = [
        {"field": "n", "type": "int32", "doc": "how many", "default": 7},
        {"field": "o", "type": "string", "optional": True},
        {"field": "r", "type": "struct", "fields": inside},
        {"field": "s", "type": "struct", "optional": True, "fields": inside},
        {"field": "l", "type": "array", "items": {"type": "int32"}},
        {"field": "m", "type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}},
        {"field": "gone", "type": "int32"},
    ]
    schema = {"type": "struct", "name": "R", "doc": "all", "fields": fields}
    whole = {"n": 1, "o": None, "r": {"x": 1, "y": None}, "s": None, "l": [1], "m": {"a": 1}, "gone": 0}
    changes = {
        "transforms": "a",
        "transforms.a.type": f"org.apache.kafka.connect.transforms.{step}",
        "transforms.a.exclude": "gone",
        "transforms.a.fields": "gone",
        "transforms.a.field": "h",
        "transforms.a.delimiter": "_",
    }
    made = Disk(
        tmp_path,
        **TOLERANT,
        **converter,
        **(changes if step else {}),
        **{"format.class": FORMAT + format_, "flush.size": "2"},
    )
    payloads: list[Any] = [whole, whole | {"s": {"x": None}}, whole | {"l": [1, None]}, whole | {"s": {"x": 2}}]
    found = refused(made, *(json.dumps({"schema": schema, "payload": payload}).encode() for payload in payloads))
    assert set(found) == {1, 2}
    (path,) = [one for one in Path(made.store.folder).rglob("*") if one.is_file()]
    if path.suffix == ".parquet":
        nullable = {name: one.nullable for name, one in named(pq.read_schema(path))}
    else:
        avro = written(Path(made.store.folder))
        assert avro.get("connect.doc") == (None if step == "HoistField$Value" else "all")
        nullable = dict(unions(avro))
    start = {"HoistField$Value": "h."}.get(step or "", "")
    glue = "_" if step == "Flatten$Value" else "."
    required = {"n", f"r{glue}x", "l", "l.element", "gone"}
    required |= {"r", "s.x", "m", "m.value"} if glue == "." else {"m_a"}
    optional = {"o", f"r{glue}y", f"s{glue}y"} | ({"s"} if glue == "." else {"s_x"})
    if step == "ReplaceField$Value":
        required.remove("gone")
    expected = dict.fromkeys((start + name for name in required), False)
    expected |= dict.fromkeys((start + name for name in optional), True)
    assert nullable == expected | ({"h": False} if start else {})


def named(fields: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Fields of Arrow by their dotted names."""
    for one in fields:
        if one.name != "key":
            yield path + one.name, one
        inner = one.type
        children = [inner.field(index) for index in range(inner.num_fields)]
        children = [inner.item_field] if str(inner).startswith("map") else children
        yield from named(children, f"{path}{one.name}.")


def unions(record: Any, path: str = "") -> Iterator[tuple[str, bool]]:
    """Whether the types of Avro are unions, by dotted names."""
    for field in record["fields"]:
        yield from union_of(path + field["name"], field["type"])


def union_of(path: str, type_: Any) -> Iterator[tuple[str, bool]]:
    yield path, isinstance(type_, list)
    found = next(one for one in type_ if one != "null") if isinstance(type_, list) else type_
    if isinstance(found, dict):
        if "fields" in found:
            yield from unions(found, f"{path}.")
        if "items" in found:
            yield from union_of(f"{path}.element", found["items"])
        if "values" in found:
            yield from union_of(f"{path}.value", found["values"])


def test_a_new_schema_begins_a_new_object_and_bad_records_are_dead_letters(tmp_path: Path, registry: Registry) -> None:
    made = disk(tmp_path, registry, **TOLERANT, **{"schema.compatibility": "BACKWARD", "flush.size": "3"})
    values = [framed(1, ONE), framed(2, TWO), framed(3, ONE), framed(2, ONE), framed(2, TWO), framed(2, TWO)]
    found = made.run([Row(offset, value) for offset, value in enumerate(values)])
    assert [len(lines) for lines in made.lines().values()] == [1, 3]
    assert {letter.offset: letter.reason[:30] for letter in found.letters} == {
        2: "the registry has no schema wit",
        3: "the record does not fit its sc",
    }


def with_keys(folder: Path, registry: Registry, kind: str, *keys: bytes | None) -> list[Any]:
    """What the file of the keys has: lines of JSON or values of Avro."""
    made = disk(
        folder,
        registry,
        **TOLERANT,
        **{
            "key.converter": "io.confluent.connect.avro.AvroConverter",
            "key.converter.schema.registry.url": registry.url,
            "store.kafka.keys": "true",
            "keys.format.class": FORMAT + kind,
            "flush.size": str(len([key for key in keys if key and key[4] < 7])),
        },
    )
    found = made.run([Row(offset, framed(1, ONE), key=key) for offset, key in enumerate(keys)])
    assert [letter.reason[:30] for letter in found.letters] == [
        "key: the registry has no schem" if key else "Key cannot be null for SinkRec"
        for key in keys
        if not key or key[4] > 6
    ]
    (path,) = [one for one in Path(made.store.folder).rglob("*.keys.*")]
    if path.suffix == ".json":
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    with path.open("rb") as file:
        return list(fastavro.reader(file))


def test_keys_have_the_types_of_their_schema(tmp_path: Path, registry: Registry) -> None:
    day = dt.date(1970, 1, 2)
    record, plain, text = framed(4, b"\2"), framed(5, b"\2"), framed(6, b"\2x")
    assert with_keys(tmp_path / "a", registry, "json.JsonFormat", record, plain, text) == [{"day": 1}, 1, "x"]
    assert with_keys(tmp_path / "b", registry, "avro.AvroFormat", record, None, record) == [{"day": day}] * 2
    assert with_keys(tmp_path / "c", registry, "avro.AvroFormat", plain, framed(7, b""), plain) == [day] * 2
    assert with_keys(tmp_path / "d", registry, "avro.AvroFormat", record, text) == ['{"day":1}', "x"]
