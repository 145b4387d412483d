"""The operation on a table whose rows are replaced and deleted: upserts and change events."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import NameMapping

from frazil.connectors.iceberg.append import Append
from frazil.connectors.iceberg.changes.changes import ChangeFileWriter
from frazil.connectors.iceberg.changes.merge import Merge, look_up_all, rewrites, sorted_out, stage_truncation
from frazil.connectors.iceberg.config.row_changes import ID_COLUMNS, RowChanges, no_keys
from frazil.connectors.iceberg.table.commit import Commit, Floor, TableBranch
from frazil.connectors.iceberg.table.schema import mapping_of, struct_of
from frazil.connectors.iceberg.table.writers import decode_spec, file_writer
from frazil.errors import ConfigError
from frazil.pipeline.changes import ChangeSpec, Path, key_error
from frazil.pipeline.executor import Executor, spread
from frazil.pipeline.gaps import Before, WantedRows
from frazil.pipeline.task_spec import Bounds, Judge, TableSpec, Writer
from frazil.pipeline.transforms.plugin import CHANGE_POSITION
from frazil.pipeline.versions import MODE_COLUMNS, WRITTEN


@dataclass(frozen=True)
class RowLevelOperation(Append):
    """Operation by which every record changes the row with its key; see `Append`."""

    changes: RowChanges
    executor: Executor

    def check(self, table: Table) -> None:
        rewrites(table)
        self._keys(table)
        check_mode(table, "replica")

    def spec(
        self, table: Table, name: str, bounds: Bounds, no_more_columns: str, before: Before | None = None
    ) -> TableSpec:
        decode = decode_spec(self.config, table.schema(), no_more_columns, mapping_of(table))
        changes = self._changes(table.schema(), name)
        return TableSpec(name, decode, self._writer(table, before), bounds, changes=changes, before=before)

    def judge(self, schema: Schema, name: str, no_more_columns: str, name_mapping: NameMapping | None) -> Judge:
        decode = decode_spec(self.config, schema, no_more_columns, name_mapping)
        return Judge(decode, self._changes(schema, name))

    def _changes(self, schema: Schema, name: str) -> ChangeSpec:
        return ChangeSpec(self._keys_of(schema, name), self.changes.operation)

    def _writer(self, table: Table, before: Before | None) -> Writer:
        return ChangeFileWriter(file_writer(self.config, table), self._keys(table))

    def before(self, target: TableBranch, table: Table, wanted: WantedRows) -> Before:
        return Before(wanted, self._rows_of(target, table, wanted))

    def _rows_of(self, target: TableBranch, table: Table, wanted: WantedRows) -> pa.Table:
        return look_up_all(
            table, target.branch, self._keys(table), wanted, file_writer(self.config, table), self._spread
        )

    def commit(self, target: TableBranch, table: Table, floor: Floor, batch: Commit) -> None:
        if batch.truncates:
            target.commit(table, floor, batch, stage_truncation)
        else:
            self._merge(target, table, floor, batch, self._keys(table))

    def _merge(self, target: TableBranch, table: Table, floor: Floor, batch: Commit, keys: tuple[Path, ...]) -> None:
        if not batch.changes:
            target.commit(table, floor, batch)
            return
        writer_for = partial(file_writer, self.config)
        new = batch.files, *sorted_out(batch.changes)
        merge = Merge(*new, keys, writer_for, self._spread, compacts=self.config.compacts)
        target.commit(table, floor, batch, merge.stage)

    def _keys(self, table: Table) -> tuple[Path, ...]:
        return self._keys_of(table.schema(), ".".join(table.name()))

    def _ids(self, schema: Schema, name: str) -> tuple[Path, ...]:
        return self.changes.id_columns_of(name) or tuple(
            tuple(path.split(".")) for path in sorted(schema.identifier_field_names() - WRITTEN)
        )

    def _keys_of(self, schema: Schema, name: str) -> tuple[Path, ...]:
        """The key columns. Raises ConfigError when there are none, or when they cannot be key columns."""
        keys = self._ids(schema, name)
        if not keys:
            raise ConfigError(no_keys(name))
        struct = struct_of(schema)
        problems = {".".join(path): reason for path in keys if (reason := key_error(struct, path))}
        if problems:
            found = " and ".join(f"{column} ({reason})" for column, reason in problems.items())
            raise ConfigError(
                f"{name} cannot find rows by {found}. Nothing was written. Its columns are "
                f"{', '.join(f.name for f in struct.fields)}; correct {ID_COLUMNS} or iceberg.table.{name}.id-columns."
            )
        return keys

    def _spread(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return spread(self.executor, function, items, "files that hold rows that change")


def check_mode(table: Table, mode: str) -> None:
    """Raise ConfigError for a table whose columns are those of another mode."""
    columns = {path[0] for path in MODE_COLUMNS[mode]}
    found = {field.name for field in table.schema().fields} & {path[0] for path in MODE_COLUMNS["history"]}
    keeps = CHANGE_POSITION in table.schema().identifier_field_names()
    if (columns and columns != found) or (not columns and keeps):
        name = ".".join(table.name())
        what = f"has {', '.join(sorted(found)) or 'none'} of these" if columns else "is one of changes or of versions"
        wants = f"needs the columns {', '.join(sorted(columns))}" if columns else "has the rows as they are"
        raise ConfigError(
            f"a table with frazil.cdc.mode={mode} {wants}, and {name} {what}. Nothing was written. Correct the mode "
            f"(iceberg.table.{name}.cdc-mode), or have another table made (iceberg.tables.auto-create-enabled)"
        )
