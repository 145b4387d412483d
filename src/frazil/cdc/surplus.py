"""Rows that only a table has, as those whose deletes came before a snapshot of their database, are taken out of it.

A row may go when the table was read first, and the database has no row of its key then: it has been deleted, and one
that comes back later is not in the table yet. So each attempt is for the head that it has read, and asks the database
anew.
"""

import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyiceberg.table import Table

from frazil.cdc.compare import Comparison, Database, Shape, scan
from frazil.connectors.iceberg.changes.merge import Merge
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.attempts import apply
from frazil.connectors.iceberg.table.commit import COMMIT_ID, TableBranch, has_commit
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.transaction import transaction_on
from frazil.connectors.iceberg.table.writers import file_writer
from frazil.errors import ConfigError
from frazil.pipeline.changes import key_error
from frazil.pipeline.keys import Keys, columns_of

Key = tuple[object, ...]


def delete_surplus(
    config: IcebergSinkConfig,
    target: TableBranch,
    access: Mapping[str, Any],
    source: tuple[str, str],
    found: Comparison,
    progress: Callable[[str], None],
) -> None:
    """Delete the surplus rows of a comparison that the database, asked again, does not have; note it in `found`.

    Raises ConfigError for a standby, which may lack what the table has already, and for a key by which rows cannot be
    found, ServiceUnavailable, and as `apply` does.
    """
    commit_id = str(uuid.uuid4())
    wanted = {tuple(key.values()) for key in found.surplus}
    left: set[Key] = set()

    def attempt(table: Table) -> None:
        with closing(Database(access)) as database:
            if database.is_standby():
                raise ConfigError(
                    f"the server is a standby, which may lack rows that {found.target} has already. Name the primary"
                )
            shape = database.shape(*source, table, target.branch, typed=config.envelope is not None)
            keys = replace(shape, columns=shape.key)
            progress(f"{found.source}: keys of the database")
            left.clear()
            left.update(key for key, _ in database.rows(*source, keys) if key in wanted)
        paths = tuple((name,) for name in shape.key)
        if problems := [reason for path in paths if (reason := key_error(struct_of(table.schema()), path))]:
            raise ConfigError(f"rows of {found.target} cannot be found by their key: {', '.join(problems)}")
        rows = _rows(table, target.branch, keys, wanted - left)
        found.deleted = rows.num_rows
        if not rows.num_rows:
            return
        progress(f"{found.source}: {rows.num_rows:,} rows of {found.target} are deleted")
        merge = Merge(
            (),
            Keys(columns_of(rows, paths)),
            {},
            paths,
            partial(file_writer, config),
            lambda do, items: [*map(do, items)],
        )
        transaction = transaction_on(table)
        merge.stage(transaction, table, target.branch, {COMMIT_ID: commit_id, "frazil.surplus.source": found.source})
        transaction.commit_transaction()

    apply(target.load, target.load(), target.branch, attempt, lambda now: has_commit(now, commit_id))
    found.surplus = [key for key in found.surplus if tuple(key.values()) in left]


def _rows(table: Table, branch: str, shape: Shape, keys: set[Key]) -> pa.Table:
    """The rows of a branch with one of the keys, key columns only."""
    batches = scan(table, branch, shape.key)
    found = [batches.schema.empty_table()]
    for batch in batches:
        hits = [shape.row(row)[0] in keys for row in batch.to_pylist()]
        found.append(pa.Table.from_batches([batch]).filter(pa.array(hits, pa.bool_())))
    return pa.concat_tables(found)
