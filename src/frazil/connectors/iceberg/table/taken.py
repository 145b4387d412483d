"""Rows of a table that were taken from a database at once, before any change of it: their commit, and its mark.

The mark is a property of the table, set by the commit of the rows: the table has all of them, or none and no mark.
"""

import uuid
from collections.abc import Mapping, Sequence

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.connectors.iceberg.table.attempts import apply
from frazil.connectors.iceberg.table.commit import (
    COMMIT_ID,
    TableBranch,
    has_commit,
    position_property,
    summary_of,
)
from frazil.connectors.iceberg.table.transaction import append_files, transaction_on
from frazil.errors import ConfigError
from frazil.pipeline.source_positions import TakenRows, taken_from_json, taken_to_json


def taken_rows(table: Table, branch: str) -> TakenRows:
    """Moments at which rows of a branch were taken, by the topic of their changes; none when all are from records."""
    text = table.properties.get(_property(branch))
    return taken_from_json(text) if text else {}


def taken_topics(table: Table) -> set[str]:
    """Topics of the changes of all rows that were taken."""
    marks = (text for name, text in table.properties.items() if name.startswith(_property("")))
    return {topic for text in marks for topic in taken_from_json(text)}


def check_untouched(table: Table, connector: str, branch: str) -> None:
    """Raise ConfigError for a table that has rows, or that the connector has written to."""
    head = table.metadata.snapshot_by_name(branch)
    rows = 0 if head is None else int(summary_of(head).get("total-records", "0"))
    if rows or position_property(connector, branch) in table.properties:
        what = f"has {rows:,} rows" if rows else f"was written by connector {connector}"
        raise ConfigError(
            f"table {'.'.join(table.name())} {what} already, which a snapshot would double. Nothing was written to it. "
            "Drop the table, or leave its source out of the snapshot"
        )


def commit_taken(
    target: TableBranch,
    table: Table,
    connector: str,
    files: Sequence[DataFile],
    taken: TakenRows,
    summary: Mapping[str, str],
) -> None:
    """Put all rows into the table, with their mark, once.

    Raises ConfigError when somebody has written rows meanwhile, and as `apply` does; the table does not have the rows
    then, but for CommitStateUnknown.
    """
    commit_id = str(uuid.uuid4())

    def attempt(now: Table) -> None:
        check_untouched(now, connector, target.branch)
        transaction = transaction_on(now)
        told = {COMMIT_ID: commit_id, **summary}
        append_files(transaction.update_snapshot(snapshot_properties=told, branch=target.branch), now, files)
        transaction.set_properties({_property(target.branch): taken_to_json(taken)})
        transaction.commit_transaction()

    apply(target.load, table, target.branch, attempt, lambda now: has_commit(now, commit_id))


def _property(branch: str) -> str:
    return f"frazil.snapshot.{branch}"
