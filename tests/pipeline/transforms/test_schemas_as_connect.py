"""Random records with schemas through Kafka Connect's own classes and through ours: values and types."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from frazil.connectors.objects.told import schema_of
from frazil.declare.converters import JSON_CONVERTER
from frazil.pipeline.envelope import JsonEnvelope, columns_of, rewritten, type_of
from frazil.pipeline.prepare import prepare
from frazil.pipeline.schemas.connect import ConnectSchema, read_schema
from frazil.pipeline.transforms.keys import KeyConverter
from frazil.pipeline.types import Struct
from frazil.stack.jars import CONNECT, resolve
from frazil.stack.java import find_java
from tests.isolation import isolated_settings
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.transforms.chains import Step, chain
from tests.pipeline.transforms.connect import Connect, ConnectError
from tests.pipeline.transforms.typed import of, shape

pytestmark = pytest.mark.stack

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
REFUSED = ("does not fit", "the text is neither true nor false")
"""Reasons of `Cast` against what Connect wraps or takes for false."""
NAMES = ("a", "b", "c", "d")
STEPS: list[Step] = [
    ("ReplaceField$Value", {"exclude": "a", "renames": "b:x"}),
    ("ReplaceField$Value", {"include": "a,b"}),
    ("MaskField$Value", {"fields": "a,c"}),
    ("InsertField$Value", {"topic.field": "t", "partition.field": "p", "offset.field": "o", "timestamp.field": "ts"}),
    ("InsertField$Value", {"static.field": "s!", "static.value": "5", "topic.field": "t!", "offset.field": "o?"}),
    ("InsertField$Value", {"timestamp.field": "ts!", "partition.field": "p!"}),
    ("HoistField$Value", {"field": "whole"}),
    ("Cast$Value", {"spec": "a:int64,b:string"}),
    ("Cast$Value", {"spec": "a:int32"}),
    ("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "move"}),
    ("SetSchemaMetadata$Value", {"schema.name": "n"}),
    ("SetSchemaMetadata$Value", {"schema.version": "7"}),
    ("Cast$Value", {"spec": "a:float64,b:boolean"}),
    ("Flatten$Value", {"delimiter": "_"}),
    ("ExtractField$Value", {"field": "a"}),
    ("ExtractField$Value", {"field": "whole"}),
    ("ExtractField$Value", {"field": "whole.a", "field.syntax.version": "V2"}),
    ("TimestampConverter$Value", {"field": "a", "target.type": "Date"}),
    ("TimestampConverter$Value", {"field": "a", "target.type": "Time"}),
    ("TimestampConverter$Value", {"field": "a", "target.type": "Timestamp"}),
    ("TimestampConverter$Value", {"field": "a", "target.type": "unix"}),
    ("TimestampConverter$Value", {"field": "a", "target.type": "string", "format": "yyyy-MM-dd HH:mm:ss.SSS"}),
    ("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "copy"}),
    ("InsertHeader", {"header": "h", "value.literal": "5"}),
    ("ValueToKey", {"fields": "a"}),
    ("DropHeaders", {"headers": "h"}),
]
KEY_STEPS: list[Step] = [
    ("ValueToKey", {"fields": "a"}),
    ("ValueToKey", {"fields": "b,a"}),
    ("ExtractField$Key", {"field": "a"}),
    ("InsertField$Key", {"static.field": "s!", "static.value": "5", "topic.field": "t"}),
    ("HeaderFrom$Key", {"fields": "a", "headers": "h", "operation": "move"}),
    ("Cast$Key", {"spec": "a:int64"}),
    ("Cast$Key", {"spec": "string"}),
    ("ReplaceField$Key", {"exclude": "b", "renames": "a:x"}),
    ("HoistField$Key", {"field": "whole"}),
    ("Flatten$Key", {"delimiter": "_"}),
    ("MaskField$Key", {"fields": "a"}),
    ("TimestampConverter$Key", {"field": "a", "target.type": "Timestamp"}),
    ("SetSchemaMetadata$Key", {"schema.name": "n", "schema.version": "7"}),
    ("Cast$Value", {"spec": "a:string"}),
]


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    found = isolated_settings(tmp_path_factory.mktemp("connect"))
    java = find_java(found.env)
    jars = resolve(CONNECT, java, found.cache, lambda text: None, found.env)
    with Connect(java, jars, schemas=True) as running:
        yield running


def record(chance: Random) -> bytes:
    """A record some of whose fields have defaults, and are null or absent."""
    found = {name: of(chance) for name in chance.sample(NAMES, chance.randint(1, 4))}
    for name, (schema, value) in found.items():
        if value is not None and chance.random() < 0.2:
            found[name] = {**schema, "default": value}, chance.choice([None, of_kind(chance, schema)])
    fields = [{**schema, "field": name} for name, (schema, _) in found.items()]
    absent = chance.random() < 0.5
    payload = {
        name: value
        for name, (schema, value) in found.items()
        if value is not None or "default" not in schema or not absent
    }
    whole: dict[str, Any] = {"type": "struct", "optional": chance.random() < 0.3, "fields": fields}
    whole |= {"name": "x.Whole", "version": chance.randint(1, 3)} if chance.random() < 0.5 else {}
    return json.dumps({"schema": whole, "payload": payload}).encode()


def of_kind(chance: Random, schema: dict[str, Any]) -> Any:
    """A value of a schema, not null."""
    while True:
        other, value = of(chance)
        if value is not None and {**other, "optional": True} == {**schema, "optional": True}:
            return value


def theirs(connect: Connect, steps: Sequence[Step], value: bytes) -> Any:
    try:
        after = connect.after([connect.configured(*step) for step in steps], value, timestamp=1_700_000_000_123)
        if after.valueSchema().type().name() != "STRUCT":
            return None
        found = connect.json(after.valueSchema(), after.value())
    except ConnectError as error:
        return str(error)
    parsed = msgspec.json.decode(found or b"", type=dict[str, msgspec.Raw])
    schema, payload = bytes(parsed["schema"]), bytes(parsed["payload"])
    columns = columns_of(schema)
    if columns is None or payload == b"null":
        return None
    told = read_schema(schema)
    values = json.loads(rewritten(schema, payload))
    return (told.name, told.version), filled(shape(columns)), values, dict(required(told))


def required(schema: ConnectSchema, path: str = "") -> Iterator[tuple[str, tuple[object, ...]]]:
    """Documentation, parameters and default values of what cannot be null, by paths."""
    for name, one in ((f".{one.field}", one) for one in schema.fields or ()):
        if one.optional is not True:
            default = None if isinstance(one.default, msgspec.UnsetType) else msgspec.json.decode(one.default)
            yield path + name, (one.doc, one.parameters, default)
        yield from required(one, path + name)


def ours(steps: Sequence[Step], value: bytes) -> Any:
    rows = chunk([Row(42, value, 1_700_000_000_123, partition=3)])
    found = prepare(rows, chain(*steps), envelope=JsonEnvelope())
    if found.failed:
        return str(found.failed[0][1])
    assert found.values.shapes is not None
    (text,), (types,) = found.values.values, found.values.shapes
    columns = shape(types or Struct(()))
    told = dict(required(schema_of(types or Struct(()))))
    return identity(types), filled(columns), as_numbers(columns, json.loads(text or b"null")), told


def hoists_null(expected: Any) -> bool:
    """Whether a null was hoisted, such as ExtractField takes out: it has no type here."""
    return '"whole": null' in json.dumps(expected)


def filled(columns: Any) -> Any:
    """Types without objects that have no members, which make no columns."""
    if columns == "struct<>":
        return {}
    if not isinstance(columns, dict):
        return columns
    return {name: inner for name, of_it in columns.items() if (inner := filled(of_it)) != {}}


def as_numbers(columns: Any, value: Any) -> Any:
    """Times that transformations write as text, as Connect has them."""
    match columns, value:
        case dict(), dict():
            return {name: as_numbers(columns.get(name), inner) for name, inner in value.items()}
        case "date", str():
            return (date.fromisoformat(value) - date(1970, 1, 1)).days
        case "time", str():
            return (datetime.fromisoformat(f"1970-01-01T{value}Z") - EPOCH) // timedelta(milliseconds=1)
        case "timestamptz", str():
            return (datetime.fromisoformat(value) - EPOCH) // timedelta(milliseconds=1)
        case _:
            return value


@settings(max_examples=400, phases=[Phase.generate], report_multiple_bugs=False, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(STEPS), min_size=1, max_size=3))
def test_values_and_types_are_those_of_connect(connect: Connect, seed: int, steps: list[Step]) -> None:
    value = record(Random(seed))
    expected, found = theirs(connect, steps, value), ours(steps, value)
    if isinstance(found, str) and any(reason in found for reason in REFUSED):
        assert any(name == "Cast$Value" for name, _ in steps)
    elif isinstance(expected, tuple) and not hoists_null(expected):
        assert found == expected  # what Connect fails for, such as a field that is absent, may be taken here


@pytest.mark.parametrize("text", ["-0", "-0.0", "-0e0"])
def test_connect_reads_no_minus_zero_in_json(connect: Connect, text: str) -> None:
    schema = '{"type":"struct","fields":[{"field":"d","type":"double"}]}'
    after = connect.after([], f'{{"schema":{schema},"payload":{{"d":{text}}}}}'.encode())
    found = connect.json(after.valueSchema(), after.value())
    assert found is not None and found.endswith(b'"payload":{"d":0.0}}')


def their_key(connect: Connect, steps: Sequence[Step], value: bytes, key: bytes) -> Any:
    try:
        after = connect.after([connect.configured(*step) for step in steps], value, key=key)
        found = connect.key_json(after)
    except ConnectError as error:
        return str(error)
    parsed = msgspec.json.decode(found or b"", type=dict[str, msgspec.Raw])
    schema, payload = bytes(parsed["schema"]), bytes(parsed["payload"])
    if payload == b"null":
        return None
    columns, told = columns_of(schema), read_schema(schema)
    needed, values = dict(required(whole(told))), json.loads(rewritten(schema, payload))
    if columns is None:
        return str(type_of(schema)), values, needed
    return (told.name, told.version), filled(shape(columns)), values, needed


def our_key(steps: Sequence[Step], value: bytes, key: bytes) -> Any:
    rows = chunk([Row(42, value, 1_700_000_000_123, key=key)])
    made = replace(chain(*steps), key=KeyConverter(JSON_CONVERTER, JsonEnvelope(part="key")), gives_keys=True)
    found = prepare(rows, made, envelope=JsonEnvelope())
    if found.failed:
        return str(found.failed[0][1])
    assert found.keys is not None
    ((text, type_),) = found.keys
    if text is None:
        return None
    parsed, needed = json.loads(text), dict(required(whole(schema_of(type_ or Struct(())))))
    if not isinstance(parsed, dict):
        return type_ and str(type_), as_numbers(str(type_), parsed), needed
    assert type_ is None or isinstance(type_, Struct)
    columns = shape(type_ or Struct(()))
    return identity(type_), filled(columns), as_numbers(columns, parsed), needed


def whole(schema: ConnectSchema) -> ConnectSchema:
    """A schema whose only field is of another one."""
    return ConnectSchema("struct", fields=[changed(schema, field="whole")])


def identity(type_: Struct | None) -> tuple[str | None, int | None]:
    return (type_.origin or None, type_.version) if type_ else (None, None)


@settings(max_examples=300, phases=[Phase.generate], report_multiple_bugs=False, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(KEY_STEPS), min_size=1, max_size=3))
def test_keys_and_their_types_are_those_of_connect(connect: Connect, seed: int, steps: list[Step]) -> None:
    chance = Random(seed)
    value, key = record(chance), record(chance)
    expected, found = their_key(connect, steps, value, key), our_key(steps, value, key)
    if isinstance(found, str) and any(reason in found for reason in REFUSED):
        assert any(name.startswith("Cast$") for name, _ in steps)
    elif not isinstance(expected, str) and not hoists_null(expected):
        assert found == expected
