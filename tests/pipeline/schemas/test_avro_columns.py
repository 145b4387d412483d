"""Records that are read at once, beside the same records read one by one."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, get_args

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.clients.registry.access import RegistryAccess
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.convert.origins import without_origins
from frazil.pipeline.envelope import columns_of, opened
from frazil.pipeline.rows import Rows
from frazil.pipeline.schemas.avro import avro_to_connect, parse_avro
from frazil.pipeline.schemas.avro_columns import AvroColumns, Unreadable
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.shaped import decoded
from frazil.pipeline.types import Field, Scalar, ScalarKind, Struct, Type, inner_types
from tests.clients.registry.server import Registry, served
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.schemas.avro_documents import Documents, written

IDS = count(1)
MANY = 40


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    with served({}) as running:
        yield running


def converter(registry: Registry, schema: Any) -> tuple[RegistryConverter, bytes]:
    """The converter, and what its records begin with."""
    number = next(IDS)
    registry.answers.clear()
    registry.asked.clear()
    registry.answers[f"/schemas/ids/{number}"] = {"schema": json.dumps(schema)}
    access = RegistryAccess((registry.url,))
    return RegistryConverter("io.confluent.connect.avro.AvroConverter", "AVRO", access), b"\0" + struct.pack(
        ">i", number
    )


def rows_of(values: Sequence[bytes | None]) -> Rows:
    return chunk([Row(offset, value) for offset, value in enumerate(values)])


def told(rows: Rows, found: RegistryConverter, spec: DecodeSpec, *, columns: bool) -> tuple[Any, int]:
    """All that becomes of records; and how many were read at once."""
    values, failed = opened(rows, found, columns=columns)
    many = sum(map(len, values.columns))
    result = decoded(values, spec)
    if result.unknown:  # the records are read again, for a table that has these columns
        return {path: shape(type_) for path, type_ in result.unknown.items()}, many
    table = result.table
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.int64()))
    stored = sorted(zip(result.positions, map(repr, table.to_pylist()), strict=True))
    refused = sorted((index, str(error)) for index, error in [*failed, *result.failed, *result.rejected])
    return (stored, refused, result.skipped, result.absent), many


def shape(type_: Type) -> Any:
    """A type without the order of its members."""
    found = {name: shape(inner) for name, inner in inner_types(type_)}
    return found if found else str(type_)


def changed(chance: Random, struct_: Struct) -> Struct:
    """Columns for a schema, some of another type, required, or not there."""
    fields = []
    for field in struct_.fields:
        match chance.randint(0, 8):
            case 0:
                continue
            case 1:
                field = replace(field, required=True)
            case 2:
                field = replace(field, type=other(chance, field.type))
        fields.append(field)
    return Struct((*fields, Field("more", Scalar("long"))))


def other(chance: Random, type_: Type) -> Type:
    match type_:
        case Scalar(kind="decimal", scale=scale):
            more = chance.randint(-1, 2)
            return Scalar("decimal", precision=chance.randint(1, 20) + scale + 2, scale=max(scale + more, 0))
        case Scalar(kind="binary"):
            return Scalar("fixed", length=2)
        case Scalar(kind="int" | "long" | "date" | "time" | "timestamptz"):
            kinds = get_args(ScalarKind)
            return Scalar(chance.choice([kind for kind in kinds if kind not in ("decimal", "fixed", "uuid", "binary")]))
        case _:
            return Scalar(chance.choice(["double", "string"]))


@given(st.integers(0, 2**32))
def test_what_is_read_at_once_is_what_is_read_one_by_one(registry: Registry, seed: int) -> None:
    chance = Random(seed)
    documents = Documents(chance)
    schema, value = documents.record()
    values = documents.damaged(written(schema, [value() for _ in range(MANY)]))
    found, prefix = converter(registry, schema)
    rows = rows_of([*(prefix + one for one in values), None, b"", prefix])
    columns = columns_of(avro_to_connect(parse_avro(json.dumps(schema))).to_json())
    assert columns is not None
    plain = without_origins(columns)
    assert isinstance(plain, Struct)
    own = plain if chance.random() < 0.3 else changed(chance, plain)
    spec = DecodeSpec(own, chance.random() < 0.5, loosen=chance.random() < 0.5, legacy=chance.random() < 0.2)
    at_once, _ = told(rows, found, spec, columns=True)
    assert at_once == told(rows, found, spec, columns=False)[0]


LISTS = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "n", "type": "long"},
        {"name": "text", "type": "string"},
        {"name": "list", "type": {"type": "array", "items": "string"}},
        {"name": "many", "type": {"type": "array", "items": "double"}},
    ],
}
GOOD = written(LISTS, [{"n": 5, "text": "t", "list": ["a", "b"], "many": [1.5]}])[0]
HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
LOWEST = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"


@pytest.mark.parametrize(
    "bad",
    [
        GOOD[:-1],
        GOOD[:2],
        b"",
        GOOD + b"\0",
        b"\x0a" + b"\x80\x01" + b"t",  # a text that would end in the records behind it
        b"\x0a\x02t" + HUGE,
        b"\x0a\x02t" + LOWEST + HUGE + b"\0\0",
        b"\x0a\x02t\x02\x01",
        b"\x0a\x02t\0" + HUGE,
        b"\xff" * 9 + b"\x02" + GOOD[1:],
        b"\x0a\x02\xff" + GOOD[3:],
    ],
)
def test_a_record_that_does_not_fit_shows_in_no_other(registry: Registry, bad: bytes) -> None:
    found, prefix = converter(registry, LISTS)
    rows = rows_of([prefix + (bad if index == 17 else GOOD) for index in range(MANY)])
    columns = columns_of(avro_to_connect(parse_avro(json.dumps(LISTS))).to_json())
    assert columns is not None
    spec = DecodeSpec(Struct(columns.fields), evolve=True)
    (stored, refused, _, _), many = told(rows, found, spec, columns=True)
    assert many == MANY - 1
    row = "{'n': 5, 'text': 't', 'list': ['a', 'b'], 'many': [1.5]}"
    assert stored == [(index, row) for index in range(MANY) if index != 17]
    assert [index for index, _ in refused] == [17]
    assert refused == told(rows, found, spec, columns=False)[0][1]


def test_blocks_with_their_sizes_are_read_at_once(registry: Registry) -> None:
    found, prefix = converter(registry, LISTS)
    sized = b"\x0a\x02t\x01\x04\x02a\x01\x04\x02b\0\x01\x10" + struct.pack("<d", 1.5) + b"\0"
    runs = found.runs(rows_of([prefix + sized, *[prefix + GOOD] * MANY]))
    assert runs[0].struct.to_pylist() == [{"n": 5, "text": "t", "list": ["a", "b"], "many": [1.5]}] * (MANY + 1)


def test_one_long_array_is_left_to_the_exact_reader(registry: Registry) -> None:
    """Its elements would take a round each."""
    found, prefix = converter(registry, LISTS)
    long = written(LISTS, [{"n": 5, "text": "t", "list": ["a"] * 10_000, "many": [1.5] * 10_000}])[0]
    doubles = written(LISTS, [{"n": 5, "text": "t", "list": [], "many": [1.5] * 10_000}])[0]
    (run,) = found.runs(rows_of([prefix + long, prefix + doubles, *[prefix + GOOD] * MANY]))
    assert run.indexes.tolist() == list(range(1, MANY + 2))


@pytest.mark.parametrize(
    "field",
    [
        ["null", "R"],
        {"type": "array", "items": "null"},
        {"type": "record", "name": "E", "fields": []},
        {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 40},
    ],
)
def test_schemas_that_are_not_read_at_once(field: Any) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "f", "type": field}]}
    with pytest.raises(Unreadable):
        AvroColumns(parse_avro(json.dumps(schema)))


def test_ids_in_headers_are_read_one_by_one(registry: Registry) -> None:
    found, prefix = converter(registry, LISTS)
    rows = [Row(offset, prefix + GOOD) for offset in range(MANY)]
    rows[3] = Row(3, GOOD, headers=(("__value_schema_id", prefix),))
    (run,) = found.runs(chunk(rows))
    assert run.indexes.tolist() == [index for index in range(MANY) if index != 3]
    assert not found.runs(chunk(rows[:20]))
