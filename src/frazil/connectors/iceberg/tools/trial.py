"""Records tried on the tables of a connector: the path of its tasks, with the rows kept in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.column_limits import admit
from frazil.connectors.iceberg.table.commit import TableBranch
from frazil.connectors.iceberg.table.create import creation_of, new_table
from frazil.connectors.iceberg.table.schema import mapping_of
from frazil.connectors.iceberg.table.writers import decode_spec, discovery
from frazil.pipeline.computed import Computed
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.results import TableResult
from frazil.pipeline.rows import Rows
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import Bounds, Routing, TableSpec, TaskSpec


@dataclass
class KeptRows:
    """A writer of tasks that keeps the rows in `parts`."""

    parts: list[pa.Table] = field(default_factory=list)
    waiting_bytes: int = 0

    def open(self) -> KeptRows:
        """Return the writer itself: it is for one task."""
        return self

    def add(self, table: pa.Table) -> None:
        """Keep rows."""
        self.parts.append(table)

    def encode_largest(self) -> None:
        """Do nothing, for no rows wait."""

    def rehearse(self) -> None:
        """Do nothing, for there are no files."""

    def close(self) -> list[Any]:
        """Return no files."""
        return []


@dataclass(frozen=True)
class Trial:
    """Results of records by table and of those that go to none, the rows of each table, and tables that they miss."""

    results: Mapping[str, TableResult]
    rest: TableResult
    rows: Mapping[str, list[pa.Table]]
    missing: Iterable[str]


def tried(
    config: IcebergSinkConfig,
    decodes: Mapping[str, DecodeSpec],
    records: Iterable[Rows],
    refusals: Mapping[str, str] = MappingProxyType({}),
    *,
    places: bool = False,
    computed: Computed | None = None,
) -> Trial:
    """Make rows of records for the tables of `decodes`; `refusals` says why some of these cannot have any record.

    With `places` rows have the columns of `PLACE` too. With `computed` the records are such rows.
    """
    kept = {name: KeptRows() for name in decodes}
    tables = [
        TableSpec(name, decode, kept[name], refusal=refusals.get(name, ""), places=places, key=config.key)
        for name, decode in decodes.items()
    ]
    routing = None if config.route is None else Routing(config.route, Bounds(), frozenset(decodes))
    spec = TaskSpec(tuple(tables), config.transforms, routing, config.envelope, computed)
    result = run(records, spec)
    return Trial(result.tables, result.rest, {name: each.parts for name, each in kept.items()}, result.missing)


def table_branch(config: IcebergSinkConfig, catalog: Catalog, name: str) -> TableBranch:
    """The branch of a table that a connector writes to."""
    return TableBranch(catalog, name, config.branch_of(name), config.connect_sink.properties)


@dataclass(frozen=True)
class NewTable:
    """Schema of a table that records would make, the decoding of its rows, and what it would not have of them."""

    schema: Schema
    decode: DecodeSpec
    warnings: Sequence[str]


def made_of(
    config: IcebergSinkConfig, name: str, records: Iterable[Rows], computed: Computed | None = None
) -> NewTable | None:
    """The table that would be made of these records; None when they show no column."""
    result = tried(config, {name: discovery(config)}, records, computed=computed).results[name]
    admitted = admit(config, None, result.unknown, result.seen)
    if not admitted.fields:
        return None
    schema, _ = new_table(name, admitted.fields, creation_of(config, name, result.key_fields))
    return NewTable(schema, decode_spec(config, schema, admitted.refusal), admitted.warnings)


def decode_of(
    config: IcebergSinkConfig, table: Table, schema: Schema | None = None, no_more_columns: str = ""
) -> DecodeSpec:
    """Make the decoding of records to rows of a table, or of the `schema` that it would have; see `decode_spec`."""
    columns = table.schema() if schema is None else schema
    return decode_spec(config, columns, no_more_columns, mapping_of(table))
