from __future__ import annotations

import pytest
from pyiceberg.catalog import Catalog

from frazil.clients.catalog import connect
from frazil.connectors.iceberg.table.discover import tables_with_position
from frazil.errors import ServiceUnavailable
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.driver import SIMPLE

pytestmark = pytest.mark.stack


def test_tables_that_a_connector_has_written_are_found(catalog: Catalog, namespace: str) -> None:
    nested = (namespace, "inner")
    catalog.create_namespace(nested)
    names = [f"{namespace}.found", f"{namespace}.other", f"{namespace}.inner.found"]
    for name, connector in zip(names, ("one", "two", "one"), strict=True):
        catalog.create_table(name, SIMPLE, properties={f"frazil.offsets.{connector}.main": "{}"})
    assert tables_with_position(catalog, "one") == [names[0], names[2]]
    assert tables_with_position(catalog, "tw") == []


def test_a_catalog_that_does_not_answer(stack: LocalStack) -> None:
    catalog = connect(stack.settings.catalog_properties())
    catalog.uri = "http://127.0.0.1:1/"  # type: ignore[attr-defined]
    with pytest.raises(ServiceUnavailable, match="its tables"):
        tables_with_position(catalog, "one")
