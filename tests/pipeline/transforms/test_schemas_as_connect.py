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
from frazil.pipeline.types import Struct
from frazil.stack.jars import CONNECT, resolve
from frazil.stack.java import find_java
from tests.isolation import isolated_settings
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.transforms.chains import Step, chain
from tests.pipeline.transforms.connect import Connect, ConnectError
from tests.pipeline.transforms.typed import of, shape

pytestmark = pytest.mark.stack

NAMES = ("a", "b", "c", "d")
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


def record(chance: Random) -> bytes:
    found = {name: of(chance) for name in chance.sample(NAMES, chance.randint(1, 4))}
    fields = [{**schema, "field": name} for name, (schema, _) in found.items()]
    payload = {name: value for name, (_, value) in found.items()}
    return json.dumps({"schema": {"type": "struct", "optional": False, "fields": fields}, "payload": payload}).encode()


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
