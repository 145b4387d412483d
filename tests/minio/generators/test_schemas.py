from __future__ import annotations

import json
from typing import get_args

import pytest

from frazil.minio.generators.generate import records
from frazil.minio.generators.schemas import Format, fitted, schema_text
from frazil.minio.records.kinds import TableKind
from frazil.minio.records.tables import SCHEMAS
from frazil.pipeline.schemas.avro import avro_to_connect, parse_avro
from frazil.pipeline.schemas.avro_writer import avro_writer
from frazil.pipeline.schemas.connect import ConnectSchema
from frazil.pipeline.schemas.json_schemas import json_to_connect
from frazil.pipeline.schemas.protobuf_writer import protobuf_writer


def fields_of(schema: ConnectSchema) -> dict[str | None, ConnectSchema]:
    return {field.field: field for field in schema.fields or ()}


@pytest.mark.parametrize("kind", get_args(TableKind))
@pytest.mark.parametrize("form", Format)
def test_every_record_fits_the_schema_of_its_kind(kind: TableKind, form: Format) -> None:
    text, fit = schema_text(kind, form), fitted(form)
    made = list(map(fit, records(kind, 300, seed=1)))
    if form is Format.JSON_SCHEMA:
        columns = fields_of(json_to_connect(text)[0])
        assert {name for record in made for name in json.loads(record)} <= columns.keys()
        return
    write = protobuf_writer(text) if form is Format.PROTOBUF else avro_writer(parse_avro(text))
    assert all(map(write, made))


@pytest.mark.parametrize("kind", get_args(TableKind))
def test_schemas_have_the_columns_of_the_table_in_its_order(kind: TableKind) -> None:
    names = [field.name for field in SCHEMAS[kind].fields]
    avro = fields_of(avro_to_connect(parse_avro(schema_text(kind, Format.AVRO))))
    other = fields_of(json_to_connect(schema_text(kind, Format.JSON_SCHEMA))[0])
    assert list(avro) == names and other.keys() == avro.keys()
    assert {fields["time"].name for fields in (avro, other)} == {"org.apache.kafka.connect.data.Timestamp"}
