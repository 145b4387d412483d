"""The operation on a table whose rows are replaced and deleted: upserts and change events."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import NameMapping

from frazil.connectors.iceberg.append import Append
from frazil.connectors.iceberg.changes.changes import ChangeFileWriter
from frazil.connectors.iceberg.changes.merge import Merge, look_up_all, rewrites, stage_truncation
from frazil.connectors.iceberg.config.row_changes import ID_COLUMNS, RowChanges, no_keys
from frazil.connectors.iceberg.table.commit import Commit, Floor, TableBranch
from frazil.connectors.iceberg.table.schema import mapping_of, struct_of
from frazil.connectors.iceberg.table.writers import decode_spec, file_writer
from frazil.errors import ConfigError
from frazil.pipeline.changes import ChangeSpec, Path, key_error
from frazil.pipeline.executor import Executor, spread
from frazil.pipeline.gaps import Before, WantedRows
from frazil.pipeline.task_spec import Bounds, Judge, TableSpec


@dataclass(frozen=True)
class RowLevelOperation(Append):
    """Operation by which every record changes the row with its key; see `Append`."""

    changes: RowChanges
    executor: Executor

    def check(self, table: Table) -> None:
        rewrites(table)
        self._keys(table)

    def spec(self, table: Table, name: str, bounds: Bounds, no_more_columns: str) -> TableSpec:
        keys = self._keys(table)
        decode = decode_spec(self.config, table.schema(), no_more_columns, mapping_of(table))
        writer = ChangeFileWriter(file_writer(self.config, table), keys)
        return TableSpec(name, decode, writer, bounds, changes=ChangeSpec(keys, self.changes.operation))

    def judge(self, schema: Schema, name: str, no_more_columns: str, name_mapping: NameMapping | None) -> Judge:
        decode = decode_spec(self.config, schema, no_more_columns, name_mapping)
        return Judge(decode, ChangeSpec(self._keys_of(schema, name), self.changes.operation))

    def before(self, target: TableBranch, table: Table, wanted: WantedRows) -> Before:
        rows = look_up_all(
            table, target.branch, self._keys(table), wanted, file_writer(self.config, table), self._spread
        )
        return Before(wanted, rows)

    def commit(self, target: TableBranch, table: Table, floor: Floor, batch: Commit) -> None:
        if batch.truncates:
            target.commit(table, floor, batch, stage_truncation)
            return
        if not batch.changes:
            target.commit(table, floor, batch)
            return
        merge = Merge(batch.files, batch.changes, self._keys(table), partial(file_writer, self.config), self._spread)
        target.commit(table, floor, batch, merge.stage)

    def _keys(self, table: Table) -> tuple[Path, ...]:
        return self._keys_of(table.schema(), ".".join(table.name()))

    def _keys_of(self, schema: Schema, name: str) -> tuple[Path, ...]:
        """The key columns. Raises ConfigError when there are none, or when they cannot be key columns."""
        keys = self.changes.id_columns_of(name) or tuple(
            tuple(path.split(".")) for path in sorted(schema.identifier_field_names())
        )
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
