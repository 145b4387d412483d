"""Keys that a table as it is makes idle: said at the start and in a sample, and what they do not make idle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import create_mapping_from_schema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.tools.sample import sample
from tests.connectors.iceberg.driver import TABLE, TOLERANT, Driver, Memory, memory, record

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "Host", StringType()),
    NestedField(3, "bugs", StructType(NestedField(4, "url", StringType()))),
    NestedField(5, "tags", MapType(6, StringType(), 7, StringType())),
    NestedField(8, "items", ListType(9, StructType(NestedField(10, "price", LongType())))),
)
ANY_CASE = {**TOLERANT, "iceberg.tables.schema-case-insensitive": "true"}
MAPPING = "schema.name-mapping.default"


@pytest.fixture
def one() -> Iterator[Memory]:
    with memory({TABLE: SCHEMA}) as made:
        yield made


def test_a_mapping_that_repeats_the_names_leaves_names_in_any_case_alone(
    one: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    broker, catalog = one
    mapping = create_mapping_from_schema(catalog.load_table(TABLE).schema()).model_dump_json()
    catalog.load_table(TABLE).transaction().set_properties({MAPPING: mapping}).commit_transaction()
    driver = Driver(broker, catalog, ANY_CASE)
    broker.send("t", [record(1, Host="a"), record(2, host="b"), record(3, host="c", HOST="d")])
    driver.drain()
    assert driver.column(TABLE, "Host") == ["a", "b"]
    assert list(broker.letters("t-dlq")) == [("t", 0, 2, "")]
    assert not caplog.records


def test_a_mapping_with_other_names_is_told(one: Memory, caplog: pytest.LogCaptureFixture) -> None:
    broker, catalog = one
    mapping = '[{"field-id":2,"names":["Host","machine"]}]'
    catalog.load_table(TABLE).transaction().set_properties({MAPPING: mapping}).commit_transaction()
    driver = Driver(broker, catalog, ANY_CASE)
    broker.send("t", [record(1, Host="a"), record(2, machine="b")])
    driver.drain()
    assert driver.column(TABLE, "Host") == ["a", "b"]
    (said,) = caplog.messages
    assert "iceberg.tables.schema-case-insensitive has no effect on db.landing: its property schema.name-map" in said


@pytest.mark.parametrize(
    ("path", "type_", "there"),
    [
        ("bugs", "json", "struct<url: string>"),
        ("bugs.url", "uuid", "string"),
        ("Host", "ignore", "string"),
        ("items.element.price", "double", "long"),
        ("Host", "json", None),
        ("tags", "map", None),
        ("new", "json", None),
        ("bugs.new", "json", None),
        ("host.inner", "json", None),
    ],
)
def test_a_type_for_a_column_that_has_another_one_is_told(
    one: Memory,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    type_: str,
    there: str | None,
) -> None:
    broker, catalog = one
    monkeypatch.setattr(catalogs, "connect", lambda *_: catalog)
    config = {"iceberg.tables.evolve-schema-enabled": "true", f"frazil.schema.path.{path}": type_}
    driver = Driver(broker, catalog, config)
    broker.send("t", [record(1)])
    told = sample(driver.config, [one for part in broker.read_ranges({("t", 0): 0}, {("t", 0): 1}) for one in part], 1)
    for found in (
        [message.removeprefix("connector c, table db.landing: ") for message in caplog.messages],
        told.tables[0].warnings,
    ):
        if there is None:
            assert found == []
            continue
        (warning,) = found
        assert warning.startswith(
            f"frazil.schema.path.{path} has no effect on {TABLE}: the column is there already, as {there}, and the key"
        )
