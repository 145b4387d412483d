"""The publication and the replication slot of a connector, made before rows are taken, and the moment of taking them.

No change falls between the slot and the rows. A transaction that the slot does not bring was written to the log before
the slot was there: it is waited for, so the rows have it. One that the slot brings is told by its number: the rows have
it, or its changes are applied (`Taken.has`). So rows may be taken at any time after the slot was made, table by table,
and again after an interruption.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import sql

from frazil.cdc.source import Capture, SourceTable
from frazil.errors import ConfigError
from frazil.pipeline.source_positions import Taken

_OLDEST_SERVER = 140_000
_LOOK_S = 0.5
_SERVER = """
SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('wal_level')
"""
_PUBLICATION = "SELECT pubinsert AND pubupdate AND pubdelete FROM pg_publication WHERE pubname = %s"
_PUBLISHED = """
SELECT schemaname, tablename, to_jsonb(p) ->> 'rowfilter', to_jsonb(p) -> 'attnames'
FROM pg_publication_tables p WHERE pubname = %s
"""
_SLOT = """
SELECT plugin, database = current_database(), wal_status = 'lost', confirmed_flush_lsn IS NOT NULL
FROM pg_replication_slots WHERE slot_name = %s
"""
_NOW = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
_OLDEST = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_TAKE = """
SELECT pg_export_snapshot(), (pg_current_wal_insert_lsn() - '0/0')::bigint,
       ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_snapshot_xmax(s)::text::bigint,
       ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip(s) x)
FROM pg_current_snapshot() s
"""

Say = Callable[[str], None]


def check_server(connection: psycopg.Connection[Any]) -> None:
    """Raise ConfigError for a server that changes cannot be followed on."""
    version, standby, level = connection.execute(_SERVER).fetchone() or (0, False, "")
    if version < _OLDEST_SERVER:
        raise ConfigError(
            "PostgreSQL is older than 14, which reads no ranges of a table. Let Debezium take the snapshot"
        )
    if standby:
        raise ConfigError(
            "the server is a standby, which does not tell which transactions its rows have. Write the primary in "
            "database.hostname"
        )
    if level != "logical":
        raise ConfigError(
            "the server keeps too little in its log: ALTER SYSTEM SET wal_level = logical and restart it; on Amazon "
            "RDS set rds.logical_replication=1"
        )


def has_slot(connection: psycopg.Connection[Any], capture: Capture) -> bool:
    """Whether the slot is there, and no longer being made.

    Raises ConfigError for one that the connector cannot go on from.
    """
    found = connection.execute(_SLOT, [capture.slot]).fetchone()
    if found is not None and found[:3] != ("pgoutput", True, False):
        what = "has lost log that was not read" if found[2] else "is of another plugin or database"
        raise ConfigError(
            f"the replication slot {capture.slot} {what}: drop it (SELECT pg_drop_replication_slot('{capture.slot}')), "
            "drop the tables that follow it, and try again"
        )
    return found is not None and found[3]


def make_slot(connection: psycopg.Connection[Any], capture: Capture, tables: Sequence[SourceTable], say: Say) -> None:
    """Make publication and slot where they are missing, and wait until each transaction is in one or the other.

    Raises ConfigError for a publication that lacks something, and psycopg's errors.
    """
    _publish(connection, capture, tables)
    while not has_slot(connection, capture):
        say(f"making the slot {capture.slot}; transactions that are at work are waited for")
        try:
            connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [capture.slot])
        except psycopg.errors.DuplicateObject:  # the server still makes it for a program that was killed
            time.sleep(_LOOK_S)
    (now,) = connection.execute(_NOW).fetchone() or (0,)
    while (connection.execute(_OLDEST).fetchone() or (0,))[0] < now:
        say("waiting for the transactions that were at work when the slot was made")
        time.sleep(_LOOK_S)


def _publish(connection: psycopg.Connection[Any], capture: Capture, tables: Sequence[SourceTable]) -> None:
    name = sql.Identifier(capture.publication)
    found = connection.execute(_PUBLICATION, [capture.publication]).fetchone()
    if found is None:
        if capture.autocreate == "filtered":
            what = sql.SQL("TABLE {}").format(_names(tables))
        elif capture.autocreate == "all_tables":
            what = sql.Composed([sql.SQL("ALL TABLES")])
        else:
            raise ConfigError(
                f"there is no publication {capture.publication}, and publication.autocreate.mode={capture.autocreate} "
                "does not make one. Nothing was done"
            )
        connection.execute(sql.SQL("CREATE PUBLICATION {} FOR {}").format(name, what))
        return
    published = {(row[0], row[1]): row[2:] for row in connection.execute(_PUBLISHED, [capture.publication]).fetchall()}
    problem = "" if found[0] else "does not publish inserts, updates and deletes"
    for table in tables:
        condition, columns = published.get((table.schema, table.name), (None, None))
        if condition is not None or not {each.name for each in table.columns} <= set(columns or _all_of(table)):
            problem = f"leaves out rows or columns of {table}"
    if problem:
        raise ConfigError(f"the publication {capture.publication} {problem}. Nothing was done")
    missing = [table for table in tables if (table.schema, table.name) not in published]
    if missing and capture.autocreate != "filtered":
        raise ConfigError(
            f"the publication {capture.publication} lacks {', '.join(map(str, missing))}, and "
            f"publication.autocreate.mode={capture.autocreate} does not add tables. Nothing was done"
        )
    if missing:
        connection.execute(sql.SQL("ALTER PUBLICATION {} ADD TABLE {}").format(name, _names(missing)))


def _all_of(table: SourceTable) -> list[str]:
    return [each.name for each in table.columns]


def _names(tables: Sequence[SourceTable]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(table.schema, table.name) for table in tables)


@contextmanager
def taking(
    connection: psycopg.Connection[Any], capture: Capture, table: SourceTable
) -> Iterator[tuple[str, Taken, int]]:
    """Keep the rows of a table as they are now until the end of the block.

    Gives the name by which other connections see the same rows, what they are, and the number of blocks to look at.
    Raises ConfigError for a table that has changed its columns since.
    """
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        # Before the first look, since a table that is rewritten between look and lock shows no rows.
        connection.execute(
            sql.SQL("LOCK TABLE ONLY {} IN ACCESS SHARE MODE").format(sql.Identifier(table.schema, table.name))
        )
        row = connection.execute(_TAKE).fetchone()
        assert row is not None  # noqa: S101 - it selects one row
        snapshot, lsn, ts, xmax, running = row
        now = capture.table(connection, table.oid)
        if now is None or now.columns != table.columns:
            raise ConfigError(f"{table} was altered meanwhile. The same command goes on")
        yield snapshot, Taken(capture.slot, lsn, ts, xmax, frozenset(running)), now.blocks
    finally:
        with suppress(psycopg.OperationalError):  # a connection that is gone has no transaction
            connection.execute("ROLLBACK")
