"""Rows of a table of PostgreSQL as they are at one moment: ranges of its blocks, over several connections, to files."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

import adbc_driver_postgresql.dbapi as driver
import pyarrow as pa
from psycopg.conninfo import make_conninfo
from pyiceberg.manifest import DataFile

from frazil.cdc.columns import Kind
from frazil.cdc.source import SourceTable
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.errors import ConfigError, ServiceUnavailable
from frazil.text.quoting import identifier

_BLOCKS = 16_384
"""Blocks of a range, 128 MiB, unless there are too few ranges for the connections."""
_WAITING_BYTES = 64 << 20
_FILE_BYTES = 512 << 20
"""Arrow data of a file, before it is encoded."""
_SESSION = (
    "SET statement_timeout = 0",
    "SET idle_in_transaction_session_timeout = 0",
    "SET row_security = off",
    "SET TimeZone = 'UTC'",
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET TRANSACTION SNAPSHOT '{}'",
)

Range = tuple[int, int | None]
"""Blocks from the first to below the second, or all further ones."""


def ranges_of(blocks: int, connections: int) -> list[Range]:
    """Divide the blocks of a table."""
    size = max(min(_BLOCKS, -(-blocks // (2 * connections))), 256)
    begins = list(range(0, max(blocks, 1), size))
    return [*zip(begins, begins[1:], strict=False), (begins[-1], None)]


@dataclass
class Reading:
    """The reading of a table; `files` are those that are durable by now."""

    access: Mapping[str, Any]
    table: SourceTable
    kinds: Mapping[str, Kind]
    schema: pa.Schema
    writer: DataFileWriter
    files: list[DataFile] = field(default_factory=list)
    _stopped: Event = field(default_factory=Event)
    _telling: Lock = field(default_factory=Lock)

    def read(self, snapshot: str, ranges: list[Range], connections: int, done: Callable[[int], None]) -> None:
        """Read ranges and write their rows; `done` gets the number of rows of each batch.

        Raises ServiceUnavailable when database or store fail, ConfigError for values that the table cannot hold.
        """
        todo = deque(ranges)
        workers = min(connections, len(ranges))
        with ThreadPoolExecutor(workers, thread_name_prefix="snapshot") as threads:
            try:
                for future in [threads.submit(self._work, snapshot, todo, done) for _ in range(workers)]:
                    future.result()
            finally:
                self._stopped.set()

    def _work(self, snapshot: str, todo: deque[Range], done: Callable[[int], None]) -> None:
        try:
            with closing(driver.connect(make_conninfo(**self.access), autocommit=True)) as connection:
                for statement in _SESSION:
                    connection.execute(statement.format(snapshot)).close()
                self._ranges(connection, todo, done)
        except driver.Error as error:
            self._stopped.set()
            raise self._failed(error) from error
        except BaseException:
            self._stopped.set()
            raise

    def _ranges(self, connection: driver.Connection, todo: deque[Range], done: Callable[[int], None]) -> None:
        files, size = self.writer.open(), 0
        while todo and not self._stopped.is_set():
            try:
                begin, end = todo.popleft()
            except IndexError:
                break
            with closing(connection.cursor()) as cursor:
                cursor.execute(self._select(begin, end))
                for batch in self._batches(cursor):
                    if self._stopped.is_set():
                        return
                    table = self._converted(batch)
                    files.add(table)
                    size += table.nbytes
                    if files.waiting_bytes > _WAITING_BYTES:
                        files.encode_largest()
                    if size > _FILE_BYTES:
                        self.files += files.close()
                        files, size = self.writer.open(), 0
                    with self._telling:
                        done(batch.num_rows)
        if not self._stopped.is_set():
            self.files += files.close()

    def _batches(self, cursor: driver.Cursor) -> Iterator[pa.RecordBatch]:
        """The rows as the driver gives them, which fails in Arrow's way once it has begun."""
        try:
            yield from cursor.fetch_record_batch()
        except (pa.ArrowException, OSError) as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> ServiceUnavailable:
        return ServiceUnavailable(f"{self.table}: the database failed: {' '.join(str(error).split())}")

    def _select(self, begin: int, end: int | None) -> str:
        columns = ", ".join(self.kinds[each.name].select.format(identifier(each.name)) for each in self.table.columns)
        below = "" if end is None else f" AND ctid < '({end},0)'::tid"
        where = f"ctid >= '({begin},0)'::tid{below}"
        return f"SELECT {columns} FROM ONLY {identifier(self.table.schema)}.{identifier(self.table.name)} WHERE {where}"  # noqa: S608

    def _converted(self, batch: pa.RecordBatch) -> pa.Table:
        """The rows as the table has them, columns by name."""
        columns = {}
        for column, array in zip(self.table.columns, batch.columns, strict=True):
            try:
                plain = array.storage if isinstance(array, pa.ExtensionArray) else array
                wanted = self.schema.field(column.name)
                columns[column.name] = self.kinds[column.name].convert(plain).cast(wanted.type)
            except (pa.ArrowInvalid, ValueError, OverflowError) as error:
                raise ConfigError(
                    f"column {column.name} of {self.table} has a value that its table cannot hold: {error}. Nothing of "
                    "this table was stored"
                ) from error
        return pa.table([columns[each.name] for each in self.schema], schema=self.schema)
