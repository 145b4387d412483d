"""Columns that a table gets for what records bring, and what is said when it can get none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.iceberg.table.column_limits import widen
from frazil.errors import ConfigError
from frazil.pipeline.results import TableResult
from frazil.pipeline.types import STRING
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.connectors.samples import SEED_SINK

SCHEMA = Schema(NestedField(1, "id", LongType(), required=True))
LIMITED = {"frazil.schema.max.new.columns": "1"}


def test_without_a_catalog_nothing_is_changed(tmp_path: Path) -> None:
    catalog = MemoryCatalog(tmp_path, {"ns.t": SCHEMA})
    config = iceberg_sink_config(SEED_SINK)
    table = catalog.load_table("ns.t")
    result = TableResult(unknown={("a",): STRING}, absent={("id",)})
    for changed, columns in ((None, SCHEMA.column_names), (catalog, ["id", "a"])):
        found = widen(config, table, result, changed, ending="")
        assert (found.schema.column_names, found.refusal) == (["id", "a"], "")
        assert not found.schema.find_field("id").required
        assert catalog.load_table("ns.t").schema().column_names == columns


def test_the_reason_why_there_are_no_more_columns(tmp_path: Path) -> None:
    catalog = MemoryCatalog(tmp_path, {"ns.t": SCHEMA})
    result = TableResult(unknown={("a",): STRING, ("b",): STRING})
    result.seen[("b",), "string"] = 5
    found = widen(iceberg_sink_config(SEED_SINK | LIMITED), catalog.load_table("ns.t"), result, catalog, ending="")
    assert found.schema.column_names == ["id", "b"]
    assert "frazil.schema.max.new.columns 1 more at a time" in found.refusal


def test_a_table_that_cannot_have_them(tmp_path: Path) -> None:
    table = MemoryCatalog(tmp_path, {"ns.t": SCHEMA}).load_table("ns.t")
    with pytest.raises(ConfigError) as raised:
        widen(iceberg_sink_config(SEED_SINK), table, TableResult(unknown={("ID",): STRING}), None, ending="try again")
    assert str(raised.value) == "ns.t cannot have columns for the unknown fields 'ID'; try again"
