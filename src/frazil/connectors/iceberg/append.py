"""Appends to one table: the files that its tasks write, and the commit of the files of a run."""

from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import NameMapping

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.commit import Commit, Floor, TableBranch
from frazil.connectors.iceberg.table.schema import mapping_of
from frazil.connectors.iceberg.table.writers import decode_spec, file_writer
from frazil.pipeline.gaps import Before, WantedRows
from frazil.pipeline.task_spec import Bounds, Judge, TableSpec


@dataclass(frozen=True)
class Append:
    """Operation that makes a new row of each record."""

    config: IcebergSinkConfig

    def check(self, table: Table) -> None:
        """Raise ConfigError for a table that cannot be written this way; any table can have new rows."""

    def spec(
        self, table: Table, name: str, bounds: Bounds, no_more_columns: str, before: Before | None = None
    ) -> TableSpec:
        """Specification of the table for tasks, with rows that changes want, if any do. Raises as `check`."""
        decode = decode_spec(self.config, table.schema(), no_more_columns, mapping_of(table))
        return TableSpec(name, decode, file_writer(self.config, table), bounds)

    def judge(self, schema: Schema, name: str, no_more_columns: str, name_mapping: NameMapping | None) -> Judge:
        """The judge of records for columns that the table might get. Raises as `check`."""
        return Judge(decode_spec(self.config, schema, no_more_columns, name_mapping))

    def before(self, target: TableBranch, table: Table, wanted: WantedRows) -> Before:
        """The rows of the branch that changes want, of which a new row wants none; raises as `search` of `match`."""
        return Before(wanted, wanted.keys.slice(0, 0))

    def commit(self, target: TableBranch, table: Table, floor: Floor, batch: Commit) -> None:
        """Put the files of a run into the table and move its floor, once; raises as `TableBranch.commit` does."""
        target.commit(table, floor, batch)
