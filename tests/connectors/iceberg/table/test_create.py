"""Tables that are made of what the records of a batch need."""

from __future__ import annotations

import pathlib
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.clients.catalog import connect
from frazil.connectors.iceberg.config.creation import Creation, partition_terms
from frazil.connectors.iceberg.table.create import create_table
from frazil.errors import ConfigError
from frazil.pipeline.convert.decode import decoder
from frazil.pipeline.convert.infer import Path
from frazil.pipeline.task_spec import ANY_COLUMNS
from frazil.pipeline.types import Scalar, Type
from tests.connectors.iceberg.memory import MemoryCatalog

EVENT = b'{"id":1,"type":"a","ts":1684408953000,"payload":{"x":[1,2.5],"y":{"z":true}},"op":null,"tags":[{"k":"v"}]}'


@pytest.fixture(params=["memory", pytest.param("stack", marks=pytest.mark.stack)])
def catalog(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Catalog:
    """One in memory, and the real one."""
    if request.param == "memory":
        return MemoryCatalog(tmp_path, {})
    return connect(request.getfixturevalue("stack").settings.catalog_properties())


@pytest.fixture
def namespace(catalog: Catalog) -> str:
    name = f"sinks_{uuid.uuid4().hex[:8]}"
    catalog.create_namespace(name)
    return name


def columns(*records: bytes) -> Mapping[Path, Type]:
    """What tasks find in records of a table that does not exist."""
    return decoder(ANY_COLUMNS).decode(records).unknown


def create(catalog: Catalog, name: str, found: Mapping[Path, Type], **settings: Any) -> Table:
    create_table(catalog, name, found, Creation(**settings))
    return catalog.load_table(name)


def shape(table: Table) -> dict[str, str]:
    return {field.name: str(field.field_type) for field in table.schema().fields}


def test_columns_are_in_the_order_of_the_records(catalog: Catalog, namespace: str) -> None:
    table = create(catalog, f"{namespace}.e15", columns(EVENT, b'{"id":2.5,"more":"x"}'))
    assert list(shape(table)) == ["id", "type", "ts", "payload", "tags", "more"]
    assert (shape(table)["id"], shape(table)["ts"], shape(table)["more"]) == ("double", "long", "string")
    assert "x: optional list<double>" in shape(table)["payload"]
    assert "z: optional boolean" in shape(table)["payload"]
    assert "k: optional string" in shape(table)["tags"]
    assert table.spec().is_unpartitioned()
    assert not any(field.required for field in table.schema().fields)
    ids = [table.schema().find_field(name).field_id for name in table.schema().column_names]
    assert len(set(ids)) == len(ids)


def test_every_level_of_the_namespace_is_created(catalog: Catalog, namespace: str) -> None:
    name = f"{namespace}_foo1.foo2.foo3.bar"
    found = columns(b'{"id":123,"data":"foo2"}')
    table = create(
        catalog, name, found, partitions=partition_terms("data"), properties={"test-prop": "foo1"}, id_columns=("id",)
    )
    assert shape(table) == {"id": "long", "data": "string"}
    assert [(f.name, str(f.transform)) for f in table.spec().fields] == [("data", "identity")]
    assert table.properties["test-prop"] == "foo1"
    assert table.schema().identifier_field_names() == {"id"}
    assert table.schema().find_field("id").required
    create_table(catalog, name, found, Creation())  # another worker was faster
    assert catalog.load_table(name).metadata.table_uuid == table.metadata.table_uuid


def test_partition_fields_are_made(catalog: Catalog, namespace: str) -> None:
    found: dict[Path, Type] = {(f"ts{n}",): Scalar("timestamptz") for n in range(1, 5)}
    found |= columns(b'{"i":1,"s":"x"}')
    text = "year(ts1), month(ts2), day(ts3), hour(ts4), bucket(i, 4), truncate(s, 10), s"
    table = create(catalog, f"{namespace}.e19", found, partitions=partition_terms(text))
    assert [(f.name, str(f.transform)) for f in table.spec().fields] == [
        ("ts1_year", "year"),
        ("ts2_month", "month"),
        ("ts3_day", "day"),
        ("ts4_hour", "hour"),
        ("i_bucket", "bucket[4]"),
        ("s_trunc", "truncate[10]"),
        ("s", "identity"),
    ]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"partitions": partition_terms("day(nope)")}, "the records have no field nope, but id, type"),
        ({"partitions": partition_terms("hour(ts)")}, "hour(ts): the column is of type long"),
        ({"partitions": partition_terms("id, id")}, "identity(id) twice"),
        ({"id_columns": ("nope",)}, "with the id column nope: the records have id, type"),
        ({"id_columns": ("payload",)}, "cannot be created with the id columns"),
    ],
)
def test_settings_that_do_not_fit_leave_no_table(
    catalog: Catalog, namespace: str, settings: dict[str, Any], reason: str
) -> None:
    name = f"{namespace}.e20"
    with pytest.raises(ConfigError) as caught:
        create(catalog, name, columns(EVENT), **settings)
    assert reason in str(caught.value)
    assert not catalog.table_exists(name)
