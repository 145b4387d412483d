"""Random records with schemas through Kafka Connect's own classes and through ours: values and types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from frazil.pipeline.envelope import JsonEnvelope, columns_of, rewritten
from frazil.pipeline.prepare import prepare
from frazil.pipeline.types import Struct, Type, inner_types
from frazil.stack.jars import CONNECT, resolve
from frazil.stack.java import find_java
from tests.isolation import isolated_settings
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.transforms.chains import Step, chain
from tests.pipeline.transforms.connect import Connect, ConnectError

pytestmark = pytest.mark.stack

NAMES = ("a", "b", "c", "d")
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"
STEPS: list[Step] = [
    ("ReplaceField$Value", {"exclude": "a", "renames": "b:x"}),
    ("ReplaceField$Value", {"include": "a,b"}),
    ("MaskField$Value", {"fields": "a,b"}),
    ("InsertField$Value", {"topic.field": "t", "partition.field": "p", "offset.field": "o", "timestamp.field": "ts"}),
    ("InsertField$Value", {"static.field": "s", "static.value": "5"}),
    ("HoistField$Value", {"field": "whole"}),
    ("Cast$Value", {"spec": "a:int64,b:string"}),
    ("Cast$Value", {"spec": "a:int32"}),
    ("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "move"}),
    ("SetSchemaMetadata$Value", {"schema.name": "n"}),
]


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    found = isolated_settings(tmp_path_factory.mktemp("connect"))
    java = find_java(found.env)
    jars = resolve(CONNECT, java, found.cache, lambda text: None, found.env)
    with Connect(java, jars, schemas=True) as running:
        yield running


def of(chance: Random) -> tuple[dict[str, Any], Any]:
    """A schema, and a value."""
    optional = chance.random() < 0.5
    kind = chance.choice(["int32", "int64", "double", "boolean", "string", "time", "struct", "array"])
    schema: dict[str, Any] = {"type": kind, "optional": optional}
    value: Any = None
    match kind:
        case "int32" | "int64":
            value = chance.choice([0, 5, -7, 2**31 - 1, *([2**40] if kind == "int64" else [])])
        case "double":
            value = chance.choice([0.5, -2.25, 100.0])
        case "boolean":
            value = chance.random() < 0.5
        case "string":
            value = chance.choice(["", "x", "12"])
        case "time":
            schema |= {"type": "int64", "name": TIMESTAMP, "version": 1}
            value = 1_700_000_000_000 + chance.randrange(1000)
        case "struct":
            schema["fields"] = [{"type": "int64", "optional": False, "field": "n"}]
            value = {"n": chance.randrange(9)}
        case _:
            schema["items"] = {"type": "string", "optional": False}
            value = ["x"] * chance.randrange(3)
    return schema, None if optional and chance.random() < 0.3 else value


def record(chance: Random) -> bytes:
    found = {name: of(chance) for name in chance.sample(NAMES, chance.randint(1, 4))}
    fields = [{**schema, "field": name} for name, (schema, _) in found.items()]
    payload = {name: value for name, (_, value) in found.items()}
    return json.dumps({"schema": {"type": "struct", "optional": False, "fields": fields}, "payload": payload}).encode()


def shape(type_: Type) -> Any:
    found = {name: shape(inner) for name, inner in inner_types(type_)}
    return found if found else str(type_)


def theirs(connect: Connect, step: Step, value: bytes) -> Any:
    try:
        _, found = connect.apply(connect.configured(*step), value, timestamp=1_700_000_000_123)
    except ConnectError as error:
        return str(error)
    parsed = msgspec.json.decode(found, type=dict[str, msgspec.Raw])
    schema, payload = bytes(parsed["schema"]), bytes(parsed["payload"])
    columns = columns_of(schema)
    assert columns is not None
    return shape(columns), json.loads(rewritten(schema, payload))


def ours(step: Step, value: bytes) -> Any:
    rows = chunk([Row(42, value, 1_700_000_000_123, partition=3)])
    name = step[0].partition("$")[0]
    steps = None if name == "SetSchemaMetadata" else chain(step)
    found = prepare(rows, steps, envelope=JsonEnvelope())
    if found.failed:
        return str(found.failed[0][1])
    assert found.values.shapes is not None
    (text,), (types,) = found.values.values, found.values.shapes
    assert text is not None
    return shape(types or Struct(())), json.loads(text)


@settings(max_examples=400, phases=[Phase.generate], report_multiple_bugs=False, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(STEPS))
def test_values_and_types_are_those_of_connect(connect: Connect, seed: int, step: Step) -> None:
    value = record(Random(seed))
    expected, found = theirs(connect, step, value), ours(step, value)
    if isinstance(found, str) and "does not fit" in found:  # Connect wraps such numbers
        assert step[0] == "Cast$Value"
    elif not isinstance(expected, str):  # what Connect fails for, such as a field that is absent, may be taken here
        assert found == expected
