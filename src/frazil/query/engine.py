"""The embedded engine: DuckDB over scans of the catalog's tables, without files, network or settings of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import duckdb
import pyarrow as pa
from pyiceberg.catalog import Catalog

from frazil.errors import QueryError
from frazil.query.arrow_values import rows_of
from frazil.query.names import Names, answers
from frazil.query.result import Result
from frazil.query.scan import ScanStream, readable
from frazil.query.show import show, shows
from frazil.query.statements import Statement, split
from frazil.query.translate import translate

_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET integer_division = true",
    "SET temp_directory = ''",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


class Engine:
    """Answers reading statements in Trino's dialect from one catalog.

    `warehouse` is the catalog's name in SQL, `namespace` the schema of names without one. A query that needs more
    than `memory_limit` (DuckDB's spelling, like `2GB`) ends with a QueryError; nothing is spilled to disk.
    """

    def __init__(self, catalog: Catalog, warehouse: str, namespace: str, memory_limit: str = "2GB") -> None:
        self._catalog = catalog
        self._warehouse = warehouse
        self._namespace = namespace
        self._memory_limit = memory_limit

    def run(self, sql: str) -> Iterator[Result]:
        """Answers to the statements of a text, one after the other; each sees one snapshot of every table.

        Raises QueryError for what cannot be answered (a statement that writes is refused before any has run) and
        ServiceUnavailable when the catalog or the object store does not answer.
        """
        for statement in split(sql):
            started = time.perf_counter()
            names = Names(self._catalog, self._warehouse, self._namespace)
            answer = show(statement, names) if shows(statement) else self._select(statement, names)
            yield replace(answer, elapsed_s=time.perf_counter() - started)

    def _select(self, statement: Statement, names: Names) -> Result:
        translation = translate(statement, names)
        streams: list[ScanStream] = []
        with duckdb.connect(":memory:", config={"memory_limit": self._memory_limit}) as connection:
            for setting in _SETTINGS:
                connection.execute(setting)
            with answers():
                for scan in translation.scans:
                    source = readable(scan)
                    connection.register(scan.view, source)
                    if isinstance(source, ScanStream):
                        streams.append(source)
            try:
                answer = _interruptible(connection, translation.sql)
            except duckdb.Error as error:
                for failure in (stream.failure for stream in streams if stream.failure is not None):
                    with answers():
                        raise failure from None
                raise QueryError(self._reason(error)) from None
            columns = tuple(translation.labels.get(i, name) for i, name in enumerate(answer.column_names))
            return Result(columns, rows_of(answer.columns), arrow=answer)

    def _reason(self, error: duckdb.Error) -> str:
        if isinstance(error, duckdb.OutOfMemoryException):
            return f"the statement needs more than {self._memory_limit} of memory; ask for fewer rows or columns"
        # The lines after the first speak of the translated statement, which the caller never wrote.
        text = str(error).splitlines()[0].removeprefix("Binder Error: ").removeprefix("Catalog Error: ")
        return f"{text} SHOW COLUMNS FROM a table lists its columns." if "not found in FROM" in text else text


def _interruptible(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """Run a statement so that Ctrl+C ends it: in the main thread DuckDB would see the signal only afterwards."""
    with ThreadPoolExecutor(max_workers=1) as worker:
        answer = worker.submit(lambda: connection.sql(sql).to_arrow_table())
        try:
            return answer.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise
