"""Tasks whose records come in columns: what one record is refused for leaves the others as they are."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from frazil.clients.registry.access import RegistryAccess
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.poison import PoisonPills, Unforeseen
from frazil.pipeline.prepare import prepare
from frazil.pipeline.route import Route
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.task import run, sound
from frazil.pipeline.task_spec import Bounds, Judge, Routing, TableSpec, TaskSpec
from frazil.pipeline.types import Field, Scalar, Struct
from tests.clients.registry.server import served
from tests.pipeline.kafka_rows import Row, chunks
from tests.pipeline.schemas.avro_documents import written
from tests.pipeline.test_task import Memory

SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "n", "type": "long"}, {"name": "at", "type": {"type": "int", "logicalType": "date"}}],
}
COLUMNS = Struct((Field("n", Scalar("long")), Field("at", Scalar("date"))))
BAD, COUNT = 7, 50


@pytest.fixture
def envelope() -> Iterator[RegistryConverter]:
    with served({"/schemas/ids/1": {"schema": json.dumps(SCHEMA)}}) as running:
        access = RegistryAccess((running.url,))
        yield RegistryConverter("io.confluent.connect.avro.AvroConverter", "AVRO", access)


def rows() -> list[Any]:
    values = [{"n": n, "at": 10**9 if n == BAD else 1} for n in range(COUNT)]
    return chunks(Row(n, b"\0" + struct.pack(">i", 1) + value) for n, value in enumerate(written(SCHEMA, values)))


def stored(table: TableSpec, envelope: RegistryConverter, routing: Routing | None = None) -> tuple[list[Any], Any]:
    found = run(rows(), TaskSpec((table,), routing=routing, envelope=envelope))
    assert isinstance(table.writer, Memory)
    return table.writer.values(), found.tables["db.t"]


def test_a_value_that_a_column_cannot_hold(envelope: RegistryConverter) -> None:
    values, result = stored(TableSpec("db.t", DecodeSpec(COLUMNS, evolve=True), Memory()), envelope)
    assert values == [n for n in range(COUNT) if n != BAD]
    assert [(letter.offset, letter.path) for letter in result.dead] == [(BAD, "at")]
    assert (result.read, result.stored.total()) == (COUNT, COUNT - 1)


def test_records_that_a_judge_refuses(envelope: RegistryConverter) -> None:
    judge = Judge(DecodeSpec(COLUMNS, evolve=False))
    some = DecodeSpec(Struct(COLUMNS.fields[:1]), evolve=False)
    values, result = stored(TableSpec("db.t", some, Memory(), judge=judge), envelope)
    assert values == [n for n in range(COUNT) if n != BAD]
    assert [letter.offset for letter in result.dead] == [BAD]


def test_a_route_by_topic(envelope: RegistryConverter) -> None:
    routing = Routing(Route(topic_pattern="db.{topic}"), Bounds(), frozenset(("db.t",)))
    values, _ = stored(TableSpec("db.t", DecodeSpec(COLUMNS, evolve=True), Memory()), envelope, routing)
    assert values == [n for n in range(COUNT) if n != BAD]


def test_poison_pills_are_left_out(envelope: RegistryConverter) -> None:
    (chunk,) = rows()
    values = prepare(chunk, None, envelope=envelope, columns=True).values
    pills = PoisonPills()
    try:
        raise ValueError("no")
    except ValueError as error:
        pills.add(chunk, 9, Unforeseen("convert", "db.t", error))
    left, refused = sound(pills, chunk, values, "db.t")
    assert [position for position, _ in refused] == [9]
    assert left.positions() == [n for n in range(COUNT) if n != 9]
    assert len(left.columns) == 1


def test_new_columns_are_those_of_the_schema(envelope: RegistryConverter) -> None:
    table = TableSpec("db.t", DecodeSpec(Struct(COLUMNS.fields[:1]), evolve=True), Memory())
    _, result = stored(table, envelope)
    assert result.unknown == {("at",): Scalar("date")}
    assert result.lacks
    assert result.doubtful
