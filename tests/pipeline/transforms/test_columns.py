"""Transformations of values that are columns, beside those of the same values one by one."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.clients.registry.access import RegistryAccess
from frazil.pipeline.changes import ChangeSpec
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.prepare import prepare
from frazil.pipeline.rows import Rows
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.shaped import decoded
from frazil.pipeline.task_spec import ANY_COLUMNS
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.types import STRING, Field, Struct, Type, inner_types
from tests.clients.registry.server import Registry, served
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.schemas.avro_documents import written
from tests.pipeline.transforms.chains import ICEBERG, Step, chain, predicates

FIELDS: dict[str, Any] = {
    "i": "int",
    "l": ["null", "long"],
    "s": ["null", "string"],
    "b": "boolean",
    "d": "double",
    "at": {"type": "long", "logicalType": "timestamp-millis"},
    "price": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
    "in": {"type": "record", "name": "In", "fields": [{"name": "i", "type": "long"}, {"name": "s", "type": "string"}]},
    "tags": {"type": "array", "items": "string"},
}
SCHEMA = {"type": "record", "name": "R", "fields": [{"name": name, "type": of} for name, of in FIELDS.items()]}
STEPS: dict[str, list[Mapping[str, str]]] = {
    "ReplaceField$Value": [{"exclude": "b,x"}, {"include": "i,s,in", "renames": "i:j"}, {"renames": "i:s,s:i"}],
    "MaskField$Value": [{"fields": "i,l,s,at,b,price"}, {"fields": "d"}, {"fields": "s", "replacement": "*"}],
    "InsertField$Value": [{"topic.field": "t", "partition.field": "p!", "offset.field": "o", "timestamp.field": "ts"},
                          {"static.field": "i", "static.value": "5"}],
    "ExtractField$Value": [{"field": "in"}, {"field": "tags"}, {"field": "s"}],
    "HoistField$Value": [{"field": "whole"}],
    "Cast$Value": [{"spec": "i:int64,l:string"}, {"spec": "l:int32"}, {"spec": "d:string"}, {"spec": "i:int8,x:int8"},
                   {"spec": "b:string"}, {"spec": "at:int64"}, {"spec": "b:boolean,s:string,d:float64,l:float64"}],
    "TimestampRouter": [{}],
    "Filter": [{"predicate": "none"}, {"predicate": "tt"}],
    "HeaderFrom$Value": [{"fields": "i,x", "headers": "a,b", "operation": "move"},
                         {"fields": "i", "headers": "a", "operation": "copy"}],
    "InsertHeader": [{"header": "h", "value.literal": "v"}],
    "ValueToKey": [{"fields": "i"}],
    "RegexRouter": [{"regex": "(.)", "replacement": "$1$1"}, {"regex": "no", "replacement": "x"}],
    f"{ICEBERG}CopyValue": [{"source.field": "s", "target.field": "copy"}, {"source.field": "x", "target.field": "y"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    with served({"/schemas/ids/1": {"schema": json.dumps(SCHEMA)}}) as running:
        yield running


def rows_of(chance: Random) -> Rows:
    small = chance.random() < 0.5
    values = [
        {
            "i": chance.randrange(-120, 120) if small else chance.randrange(-(2**31), 2**31),
            "l": chance.choice([None, 5, 2**40, -(2**62)]),
            "s": chance.choice([None, "", "é", "x", "d", " Delete "]),
            "b": chance.random() < 0.5,
            "d": chance.choice([0.5, 1e22, float("nan"), -0.0]),
            "at": 1_700_000_000_000 + chance.randrange(10**6),
            "price": chance.randbytes(4),
            "in": {"i": chance.randrange(10), "s": chance.choice(["inside", "D"])},
            "tags": ["a"] * chance.randrange(3),
        }
        for _ in range(40)
    ]
    prefix = b"\0" + struct.pack(">i", 1)
    found = [Row(100 + at, prefix + value, 1_700_000_000_000 + at) for at, value in enumerate(written(SCHEMA, values))]
    return chunk([*found, Row(200, None), Row(201, prefix)])


def told(
    rows: Rows, steps: TransformChain, envelope: RegistryConverter, changes: ChangeSpec | None, *, columns: bool
) -> tuple[Any, int]:
    """All that becomes of records; and how many were changed at once."""
    prepared = prepare(rows, steps, envelope=envelope, columns=columns)
    values = prepared.values
    missing = decoded(values, ANY_COLUMNS).unknown
    topics: dict[int, str] = {}
    for part in values.columns:
        topics |= dict(zip(part.at.tolist(), part.topics or [], strict=False))
    if values.topics is not None:
        topics |= {values.position(index): topic for index, topic in enumerate(values.topics)}
    fields = tuple(Field(path[0], type_) for path, type_ in sorted(missing.items()))
    table = decoded(values, DecodeSpec(Struct((*fields, Field("more", STRING))), evolve=True), changes)
    stored = sorted(zip(table.positions, map(repr, table.table.to_pylist()), strict=True))
    failed = sorted((at, str(error)) for at, error in [*prepared.failed, *table.failed, *table.rejected])
    shown = {path: shape(type_) for path, type_ in missing.items()}
    return (shown, topics, stored, failed, sorted(prepared.dropped), table.skipped), sum(map(len, values.columns))


def shape(type_: Type) -> Any:
    found = {name: shape(inner) for name, inner in inner_types(type_)}
    return found if found else str(type_)


def compared(registry: Registry, steps: list[Step], seed: int, changes: ChangeSpec | None = None) -> int:
    envelope = RegistryConverter("io.confluent.connect.avro.AvroConverter", "AVRO", RegistryAccess((registry.url,)))
    rows = rows_of(Random(seed))
    found = chain(*steps, **predicates(steps))
    at_once, many = told(rows, found, envelope, changes, columns=True)
    assert at_once == told(rows, found, envelope, changes, columns=False)[0]
    return many


@pytest.mark.parametrize("step", [(name, keys) for name, several in STEPS.items() for keys in several])
def test_one_step(registry: Registry, step: Step) -> None:
    compared(registry, [step], 1)


@pytest.mark.parametrize(
    "name", ["ReplaceField$Value", "MaskField$Value", "InsertField$Value", "ExtractField$Value", "HoistField$Value"]
)
def test_columns_stay_columns(registry: Registry, name: str) -> None:
    assert compared(registry, [(name, STEPS[name][0])], 2) == 40


@given(st.integers(0, 2**32))
def test_chains(registry: Registry, seed: int) -> None:
    chance = Random(seed)
    names = chance.choices(list(STEPS), k=chance.randint(2, 4))
    telling = ChangeSpec((("l",),), chance.choice([("s",), ("in", "s"), ("in", "i"), ("in",), ("price",), ("zz", "s")]))
    changes = chance.choice([None, ChangeSpec((("more",),), None), ChangeSpec((("l",),), None), telling, telling])
    compared(registry, [(name, chance.choice(STEPS[name])) for name in names], seed, changes)
