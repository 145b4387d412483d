"""A connector with a statement on a cluster and a catalog in memory; a Python function stands for Spark's part."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from frazil.clients.kafka.ranges import Range
from frazil.connectors.plan import Plan
from frazil.connectors.sink import Runs, SinkContext
from frazil.connectors.sql import runs
from frazil.connectors.sql.config import sql_config
from frazil.connectors.sql.rehearsal import Rehearse
from frazil.connectors.sql.scan import PLACE_TYPE, Scan, Scanned, ScannedTopic
from frazil.connectors.sql.statement import PLACE, Statement
from frazil.connectors.sql.task import SqlSinkTask, StatefulSinkTask
from frazil.environment.settings import Settings
from frazil.pipeline.executor import InlineExecutor
from frazil.pipeline.rows import Rows as Chunk
from frazil.pipeline.rows import rows_of
from frazil.pipeline.source import Source
from tests.connectors.broker import BOOTSTRAP, Broker
from tests.connectors.iceberg.driver import Driver
from tests.connectors.iceberg.memory import MemoryCatalog
from tests.connectors.samples import MINIMAL_SINK

Rows = list[dict[str, Any]]

STATEMENT = {
    "connector.class": "frazil.SqlConnector",
    "frazil.sql": "SELECT id, text FROM t",
    "frazil.sql.schema": "id BIGINT NOT NULL, text STRING, items ARRAY<BIGINT>",
}
OF_QUERY = {**STATEMENT, "frazil.sql": "SELECT * FROM t"}
"""A statement that sees all columns, where a function stands for it."""
ROWS = pa.schema([("id", pa.int64()), ("text", pa.string())])


def failure(text: str = "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012") -> PySparkException:
    """What Spark raises for a record that a statement fails on."""
    return PySparkException(text)


class SessionExecutor(InlineExecutor):
    """An executor with a session that nobody looks at."""

    def in_session(self, do: Callable[[Any], Any], what: str) -> Any:
        return do(None)


@dataclass
class PythonQuery:
    """Takes the place of `Query`: `compute` makes rows of a record's typed row, which has the tables under `tables`.

    With `never` it finds that no row can come of any record.
    """

    compute: Callable[[dict[str, Any]], Rows]
    schema: pa.Schema = ROWS
    never: bool = False

    def of(self, session: Any, statement: Statement, topics: Sequence[ScannedTopic], *functions: object) -> PythonQuery:
        return self

    def check(self, tables: Sequence[pa.Table]) -> Plan:
        return Plan({}, "")

    def run(
        self, scans: Sequence[Scan], tables: Sequence[pa.Table], write: Callable[[pa.Table], Any]
    ) -> tuple[list[Scanned], list[Scan], list[Any]]:
        if self.never:
            return [], list(scans), []
        found = [scan() for scan in scans]
        rows = [self._rows(batches, tables) for _, batches in found]
        return [report for report, _ in found], [], [write(each) for each in rows if each.num_rows]

    def try_rows(self, batches: Mapping[int, Sequence[pa.RecordBatch]], tables: Sequence[pa.Table]) -> pa.Table:
        return self._rows([batch for several in batches.values() for batch in several], tables)

    def rehearsal(self, number: int, batch: pa.RecordBatch, tables: Sequence[pa.Table]) -> Rehearse:
        offsets = batch.column(PLACE).field("offset").to_pylist()

        def rehearse(first: int, last: int, but: Sequence[int]) -> None:
            self._rows([batch.filter([first <= at <= last and at not in but for at in offsets])], tables)

        return rehearse

    def _rows(self, batches: Sequence[pa.RecordBatch], tables: Sequence[pa.Table]) -> pa.Table:
        shown = [table.to_pylist() for table in tables]
        made = [
            {**row, PLACE: given[PLACE]}
            for batch in batches
            for given in batch.to_pylist()
            for row in self.compute({**given, "tables": shown})
        ]
        return pa.Table.from_pylist(made, pa.schema([*self.schema, pa.field(PLACE, PLACE_TYPE)]))


@dataclass(frozen=True)
class SnapshotSource(Source):
    """What a broker has, in chunks; it can be sent to another process."""

    found: Mapping[tuple[str, int], Chunk]

    def read(self, ranges: Sequence[Range]) -> Generator[Chunk]:
        for one in ranges:
            rows = self.found.get(one.key)
            if rows is not None and len(part := rows.between(one.begin, one.end)):
                yield part


def snapshot(broker: Broker, topics: Sequence[str]) -> SnapshotSource:
    """What the topics have now."""
    records = {key: broker.records(*key) for key in broker.ends(*topics)}
    return SnapshotSource({}, True, {key: rows_of(found) for key, found in records.items() if found})


class SqlDriver(Driver):
    """See `Driver`; without `query` Spark computes, and a start sees the records that are there by then."""

    def __init__(
        self,
        patched: pytest.MonkeyPatch,
        broker: Broker,
        catalog: MemoryCatalog,
        config: Mapping[str, str],
        query: PythonQuery | None = None,
        executor: Any = None,
        files: Path | None = None,
    ) -> None:
        self._files = files
        if query is not None:
            patched.setattr(runs, "Query", query)
        self._executor = SessionExecutor() if executor is None else executor
        self._in_process = query is not None
        own = STATEMENT if query is None else OF_QUERY
        self._whole = {**MINIMAL_SINK, "iceberg.control.commit.interval-ms": "1", **own, **config}
        super().__init__(broker, catalog, {})

    def restart(self) -> None:
        config, found = sql_config(self._whole)
        own = found.loaded(
            Settings({"FRAZIL_PYTHON_MODULES": "tests.connectors.sql.rows", "FRAZIL_SQL_FILES": str(self._files or "")})
        )
        self.config = config if config.topics else replace(config, topics=("t", "u"))  # those of its pattern
        self.executor = self._executor
        source = self.broker.source() if self._in_process else snapshot(self.broker, self.config.topics)
        self.runs += (f"run-{len(self.runs)}",)
        tolerant = self.config.errors_tolerance == "all"
        if getattr(self, "task", None) is not None:
            self.task.close()
        self.task = (StatefulSinkTask if own.statement.state else SqlSinkTask)(
            own,
            self.config,
            BOOTSTRAP,
            self.catalog,
            self.config.topics,
            source,
            self.broker.queue(self.config.name, *self.config.topics) if tolerant else None,
            SinkContext(self.executor, runs=Runs(self.runs[-1], frozenset(self.runs[:-1]))),
        )
