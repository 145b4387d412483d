"""An Iceberg sink that runs in this process, on a cluster and a catalog in memory."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.iceberg.sink_task import IcebergSinkTask
from frazil.connectors.iceberg.table import attempts
from frazil.connectors.sink import Runs, SinkContext
from frazil.pipeline.executor import InlineExecutor
from frazil.pipeline.report import BatchReport
from tests.connectors.broker import BOOTSTRAP, Broker
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.connectors.samples import MINIMAL_SINK

TOLERANT = {"errors.tolerance": "all", "errors.deadletterqueue.context.headers.enable": "true"}
SIMPLE = Schema(NestedField(1, "id", LongType()), NestedField(2, "text", StringType()))
TABLE = "db.landing"
TWO = {"iceberg.tables": "db.a,db.b"}
ROUTED = {
    **TWO,
    "iceberg.tables.route-field": "to",
    "iceberg.table.db.a.route-regex": "a|ab",
    "iceberg.table.db.b.route-regex": "b|ab",
}
DYNAMIC = {
    "iceberg.tables": "",
    "iceberg.tables.dynamic-enabled": "true",
    "iceberg.tables.route-field": "to",
    "iceberg.tables.auto-create-enabled": "true",
}
EVOLVE = {"iceberg.tables.evolve-schema-enabled": "true"}
CREATE = {"iceberg.tables.auto-create-enabled": "true"}
CHANGES = {"iceberg.tables.cdc-field": "op", "iceberg.tables.default-id-columns": "id"}

Memory = tuple[Broker, MemoryCatalog]


def record(number: int, **more: Any) -> bytes:
    """A record of the tables as JSON."""
    return json.dumps({"id": number, **more}).encode()


def strays(catalog: MemoryCatalog, name: str) -> set[str]:
    """Data files in a table's folder that are not in the table."""
    table = catalog.load_table(name)
    files = {f"file://{path}" for path in Path(table.location().removeprefix("file://")).rglob("*.parquet")}
    return files - {task.file.file_path for task in table.scan().plan_files()}


class Driver:
    """A connector `c` on topic `t`; `restart` makes a new task from what the tables have, as a start after a kill."""

    def __init__(self, broker: Broker, catalog: MemoryCatalog, config: Mapping[str, str]) -> None:
        self.broker = broker
        self.catalog = catalog
        self.config = iceberg_sink_config({**MINIMAL_SINK, "iceberg.control.commit.interval-ms": "1", **config})
        self.executor = InlineExecutor()
        self.reports: list[BatchReport] = []
        self.runs: tuple[str, ...] = ()
        self.restart()

    def restart(self) -> None:
        """The task of the next worker process."""
        self.runs += (f"run-{len(self.runs)}",)
        tolerant = self.config.errors_tolerance == "all"
        self.task = IcebergSinkTask(
            self.config,
            BOOTSTRAP,
            self.catalog,
            self.config.topics,
            self.broker.source(),
            self.broker.queue(self.config.name, *self.config.topics) if tolerant else None,
            SinkContext(self.executor, runs=Runs(self.runs[-1], frozenset(self.runs[:-1]))),
        )

    def step(self) -> bool:
        """One batch of what is due; whether anything was."""
        due = self.task.due(self.broker.ends(*self.config.topics), 0)
        if due.ends:
            self.task.step(due, self.reports.append)
        return bool(due.ends)

    def drain(self) -> None:
        """Store everything."""
        while self.task.position != self.broker.ends(*self.config.topics):
            self.step()

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table as it is now."""
        found: list[dict[str, Any]] = self.catalog.load_table(table).scan().to_arrow().to_pylist()
        return found

    def column(self, table: str, name: str = "id") -> list[Any]:
        """The values of a column, sorted."""
        return sorted(row[name] for row in self.rows(table))


@contextmanager
def memory(tables: Mapping[str, Schema]) -> Iterator[tuple[Broker, MemoryCatalog]]:
    """A cluster with topic `t`, and a catalog with these tables; retries of commits wait for nothing."""
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as folder:
        patched.setattr(attempts, "_FIRST_WAIT_S", 0.0)
        patched.setattr(attempts, "_LONGEST_WAIT_S", 0.0)
        broker = Broker().install(patched)
        broker.make("t")
        yield broker, MemoryCatalog(Path(folder), tables)
