"""Rows of the table `goods` that the PostgreSQL of these tests has, and Iceberg tables with some."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, LongType, NestedField, StringType

from tests.connectors.iceberg.memory import MemoryCatalog

SCHEMA = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "name", StringType()), NestedField(3, "price", DecimalType(38, 2))
)


def goods() -> list[dict[str, Any]]:
    return [{"id": g, "name": f"n{g}", "price": round(Decimal(g) / 4, 2)} for g in range(1, 3001)]


def catalog_with(folder: Path, rows: list[dict[str, Any]]) -> MemoryCatalog:
    """A catalog with a table `shop.goods`."""
    catalog = MemoryCatalog(folder, {})
    fill(catalog, rows)
    return catalog


def fill(catalog: MemoryCatalog, rows: list[dict[str, Any]]) -> None:
    """Make the table `shop.goods`."""
    fields = [("id", pa.int64()), ("name", pa.string()), ("price", pa.decimal128(38, 2))]
    catalog.create_table("shop.goods", SCHEMA).append(pa.Table.from_pylist(rows, schema=pa.schema(fields)))
