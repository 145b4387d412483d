"""A connector whose statement's rows go to a folder, on a cluster in memory; see `tests.connectors.sql.driver`."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import fastavro
import pyarrow.parquet as pq
import pytest

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.backfill import Span
from frazil.connectors.objects.sink_task import Table
from frazil.connectors.objects.stored_positions import StoredPositions
from frazil.connectors.sink import SinkContext
from frazil.connectors.sql import runs
from frazil.connectors.sql.config import sql_object_config
from frazil.connectors.sql.object_task import SqlObjectTask
from frazil.pipeline.report import BatchReport
from tests.connectors.broker import BOOTSTRAP, Broker, Killed
from tests.connectors.objects.samples import FolderStore
from tests.connectors.samples import MINIMAL_S3_SINK
from tests.connectors.sql.driver import OF_QUERY, STATEMENT, PythonQuery, SessionExecutor, snapshot

_COUNTED = threading.Lock()


class MortalStore(FolderStore):
    """A store that is killed once, behind so many puts."""

    left = -1

    def put(self, name: str, body: IO[bytes], size: int, tags: tuple[tuple[str, str], ...]) -> None:
        super().put(name, body, size, tags)
        with _COUNTED:  # objects are put by several threads
            self.left -= 1
            if self.left == 0:
                raise Killed


class ObjectDriver:
    """Without `query` Spark computes, and a start sees the records that are there by then."""

    def __init__(
        self,
        patched: pytest.MonkeyPatch,
        broker: Broker,
        folder: Path,
        config: Mapping[str, str],
        query: PythonQuery | None = None,
        executor: Any = None,
        table: Table | None = None,
        span: Span | None = None,
    ) -> None:
        if query is not None:
            patched.setattr(runs, "Query", query)
        self._in_process = query is not None
        self._executor = executor or SessionExecutor()
        self._broker, self._table, self._span = broker, table, span
        self._config, self._own = sql_object_config(
            {**MINIMAL_S3_SINK, **(STATEMENT if query is None else OF_QUERY), **config}
        )
        self.store, self.kept = MortalStore(str(folder)), MortalStore(str(folder / "kept"))
        self.reports: list[BatchReport] = []
        self.restart()

    def restart(self) -> None:
        config = self._config
        queue = self._broker.queue(config.name, *config.topics) if config.errors_tolerance == "all" else None
        self.task = SqlObjectTask(
            self._own,
            config,
            BOOTSTRAP,
            config.topics,
            self._broker.source() if self._in_process else snapshot(self._broker, config.topics),
            queue,
            self.store,
            StoredPositions("topics.json", self.kept, config.name),
            SinkContext(self._executor),
            self._table,
            self._span,
        )

    def drain(self) -> None:
        ends = kafka_offsets.end_offsets(BOOTSTRAP, self._config.topics)
        while (due := self.task.find_due(ends, 0)).ends and self.task.position != due.ends:
            before = self.task.position
            self.task.step(due, self.reports.append)
            if self.task.position == before:
                return

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each object, by its name behind the topic's folder."""
        return {name.rpartition("/")[2]: _rows(name, data) for name, data in sorted(self.store.objects().items())}


def _rows(name: str, data: bytes) -> list[dict[str, Any]]:
    if name.endswith(".parquet"):
        return list(pq.ParquetFile(BytesIO(data)).read().to_pylist())
    if name.endswith(".avro"):
        return [dict(row) for row in fastavro.reader(BytesIO(data)) if isinstance(row, dict)]
    return [json.loads(line) for line in data.splitlines()]
