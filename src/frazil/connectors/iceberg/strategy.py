"""Strategies of writing one table: files that its tasks write, and the commit of the files of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import NameMapping

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.commit import Commit, Floor, Target
from frazil.connectors.iceberg.table.schema import mapping_of
from frazil.connectors.iceberg.table.writers import decode_spec, file_writer
from frazil.pipeline.gaps import Before, WantedRows
from frazil.pipeline.task_spec import Bounds, Judge, TableSpec


class Strategy(Protocol):
    """Conversion of records to rows: the connector's configuration decides whether they are new rows or changes."""

    def check(self, table: Table) -> None:
        """Raises ConfigError for a table that cannot be written this way."""

    def spec(self, table: Table, name: str, bounds: Bounds, no_more_columns: str) -> TableSpec:
        """Specification of the table for tasks. Raises ConfigError for a table that cannot be written this way."""

    def judge(self, schema: Schema, name: str, no_more_columns: str, name_mapping: NameMapping | None) -> Judge:
        """The judge of records for columns that the table might get. Raises as `spec` does."""

    def before(self, target: Target, table: Table, wanted: WantedRows) -> Before:
        """The rows of the target's branch that changes want; raises as `search` of `match` does."""

    def commit(self, target: Target, table: Table, floor: Floor, batch: Commit) -> None:
        """Put the files of a run into the table and move its floor, once; raises as `Target.commit` does."""


@dataclass(frozen=True)
class Appending:
    """Strategy of new rows, one for each record."""

    config: IcebergSinkConfig

    def check(self, table: Table) -> None:
        """See `Strategy`; any table can have new rows."""

    def spec(self, table: Table, name: str, bounds: Bounds, no_more_columns: str) -> TableSpec:
        """See `Strategy`."""
        decode = decode_spec(self.config, table.schema(), no_more_columns, mapping_of(table))
        return TableSpec(name, decode, file_writer(self.config, table), bounds)

    def judge(self, schema: Schema, name: str, no_more_columns: str, name_mapping: NameMapping | None) -> Judge:
        """See `Strategy`."""
        return Judge(decode_spec(self.config, schema, no_more_columns, name_mapping))

    def before(self, target: Target, table: Table, wanted: WantedRows) -> Before:
        """See `Strategy`; a new row wants nothing."""
        return Before(wanted, wanted.keys.slice(0, 0))

    def commit(self, target: Target, table: Table, floor: Floor, batch: Commit) -> None:
        """See `Strategy`."""
        target.commit(table, floor, batch)
