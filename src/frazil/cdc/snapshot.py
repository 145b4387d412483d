"""A snapshot of PostgreSQL into Iceberg tables: the rows of now, from which Debezium's changes go on.

The rows of a table are in it by one commit, or none of them is. A table that has them is left as it is, so the same
command goes on after an interruption, and the slot, which is made first, keeps its place all the while.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import psycopg

from frazil.cdc.columns import Kind, kind_of
from frazil.cdc.read import Reading, ranges_of
from frazil.cdc.slot import check_server, has_slot, make_slot, taking
from frazil.cdc.source import Capture, SourceTable
from frazil.cdc.target import Target, check_sink, find_target
from frazil.clients import catalog as catalogs
from frazil.clients.postgres import connect, database_errors
from frazil.connectors.debezium_keys import cure_of
from frazil.connectors.debezium_slot import slot_of
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.taken import commit_taken
from frazil.connectors.iceberg.table.writers import abandon, file_writer
from frazil.errors import CommitStateUnknown, ConfigError, FrazilError, ServiceUnavailable

_ROWS_PER_BLOCK = 60
"""Rows of a block of a table that PostgreSQL has not counted yet."""

Say = Callable[[str, int, int], None]
"""Tells what is done, and how many rows of how many are; of none while that is not known."""


@dataclass(frozen=True)
class TableTaken:
    """A table that has its rows; `seconds` is 0 for one that had them before."""

    source: str
    target: str
    topic: str
    slot: str
    rows: int
    files: int
    seconds: float


@dataclass(frozen=True)
class _Plan:
    table: SourceTable
    topic: str
    kinds: Mapping[str, Kind]
    target: Target

    @property
    def rows(self) -> int:
        return self.table.rows or self.table.blocks * _ROWS_PER_BLOCK


def take_snapshot(
    source: Mapping[str, str], sink: IcebergSinkConfig, stored: Mapping[str, str], connections: int, say: Say
) -> list[TableTaken]:
    """Take the rows of all tables that a source connector captures into the tables of a sink.

    Raises ConfigError, before anything is written, for tables that would not be exactly what changes make of them;
    ServiceUnavailable when database, catalog or store fail, and the same call goes on where that was.
    """
    capture = Capture.of(source)
    check_sink(sink, stored)
    access, _ = slot_of(source) or ({}, "")
    catalog = catalogs.connect(sink.catalog_properties, sink.catalog_name)
    with database_errors(cure_of), closing(connect(access)) as connection:
        connection.autocommit = True
        check_server(connection)
        say(f"looking at the tables that {capture.slot} captures", 0, 0)
        plans = _plans(capture, sink, catalog, capture.tables(connection))
        left = [plan for plan in plans if plan.target.taken is None]
        there = has_slot(connection, capture)
        if lost := [plan.target.branch.name for plan in plans if plan not in left and not there]:
            raise ConfigError(
                f"the replication slot {capture.slot}, from which {', '.join(lost)} would go on, is gone, and with "
                "it the changes since. Drop these tables, and try again"
            )
        if left:
            make_slot(connection, capture, [plan.table for plan in plans], lambda text: say(text, 0, 0))
        total = sum(plan.rows for plan in left)
        taking_all = _Taking(connection, capture, sink, access, connections, say, total)
        return [taking_all.take(plan, f"table {at} of {len(plans)}") for at, plan in enumerate(plans, 1)]


def _plans(capture: Capture, sink: IcebergSinkConfig, catalog: Any, tables: Sequence[SourceTable]) -> list[_Plan]:
    """Find the target of each table. Raises ConfigError that names each table with a problem."""
    plans, problems = [], []
    for table in tables:
        topic = capture.topic(table)
        try:
            kinds = {column.name: kind_of(column, capture) for column in table.columns}
            schemas = {name: kind.schema for name, kind in kinds.items()}
            plans.append(_Plan(table, topic, kinds, find_target(sink, catalog, topic, table, schemas)))
        except ServiceUnavailable:
            raise
        except FrazilError as error:
            problems.append(f"{table}: {error}")
    names = [plan.target.branch.name for plan in plans]
    problems += [
        f"{name} would get the rows of several tables" for name in sorted({n for n in names if names.count(n) > 1})
    ]
    if problems:
        raise ConfigError(
            "; ".join(problems) + ". Nothing was written. Leave these tables out (table.exclude.list), or let Debezium "
            "take their snapshot with a connector of their own"
        )
    return plans


@dataclass
class _Taking:
    """Takes tables one after the other; `done` rows of about `total` are read."""

    connection: psycopg.Connection[Any]
    capture: Capture
    sink: IcebergSinkConfig
    access: Mapping[str, Any]
    connections: int
    say: Say
    total: int
    done: int = 0

    def take(self, plan: _Plan, number: str) -> TableTaken:
        """Take one table; `number` says which of how many it is."""
        name, slot = plan.target.branch.name, self.capture.slot
        if plan.target.taken is not None:
            return TableTaken(str(plan.table), name, plan.topic, slot, plan.table.rows, 0, 0.0)
        started, before = time.monotonic(), self.done

        def read(rows: int) -> None:
            self.done += rows
            self.say(f"{plan.table}, {number}", self.done, max(self.total, self.done))

        table, schema = plan.target.make()
        reading = Reading(self.access, plan.table, plan.kinds, schema, file_writer(self.sink, table))
        try:
            with taking(self.connection, self.capture, plan.table) as (snapshot, taken, blocks):
                ranges = ranges_of(blocks, self.connections)
                reading.read(snapshot, ranges, self.connections, read)
        except BaseException:
            abandon(table, reading.files)
            raise
        summary = {
            "frazil.snapshot.source": str(plan.table),
            "frazil.snapshot.slot": slot,
            "frazil.snapshot.lsn": f"{taken.lsn >> 32:X}/{taken.lsn & 0xFFFFFFFF:X}",
            "frazil.snapshot.ranges": str(len(ranges)),
        }
        try:
            commit_taken(plan.target.branch, table, self.sink.name, reading.files, {plan.topic: taken}, summary)
        except CommitStateUnknown:
            raise
        except FrazilError:  # of anything else nobody knows what the catalog has made of it
            abandon(table, reading.files)
            raise
        rows = sum(file.record_count for file in reading.files)
        self.done = before + rows
        self.total += rows - plan.rows
        seconds = time.monotonic() - started
        return TableTaken(str(plan.table), name, plan.topic, slot, rows, len(reading.files), seconds)
