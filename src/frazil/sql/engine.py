"""The embedded engine: DuckDB over scans of the catalog's tables, which answers Trino's SQL as Trino does."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import cache
from types import MappingProxyType

import pyarrow as pa
from pyiceberg.catalog import Catalog

from frazil.clients.catalog import connect
from frazil.environment.extras import extra
from frazil.environment.settings import Settings
from frazil.errors import QueryError
from frazil.sql.arrow_values import typed_rows, with_names
from frazil.sql.names import Names, answers
from frazil.sql.result import Result
from frazil.sql.scan import ScanStream, readable
from frazil.sql.session import Session, machine_limit, reason, session, was_interrupted
from frazil.sql.show import show, shows
from frazil.sql.statements import Statement, split
from frazil.sql.translate import Translation, translate
from frazil.sql.translation.value import OTHER_ENGINE
from frazil.sql.view import Views

with extra("sql"):
    import duckdb

_BATCH_ROWS = 1 << 16
_INTERRUPT_S = 0.1
# An answer becomes Python values, which take about ten times the bytes of their Arrow form.
_ANSWER_SHARE = 16


class Engine:
    """Answers reading statements in Trino's dialect from one catalog.

    `warehouse` is the catalog's name in SQL, `namespace` the schema of names without one. A query that needs more
    than `memory_limit` bytes (half of what is free on the machine, unless it is given) ends with a QueryError; nothing
    is spilled to disk.
    """

    def __init__(
        self,
        catalog: Catalog | Callable[[], Catalog],
        warehouse: str,
        namespace: str,
        memory_limit: int | None = None,
        own_views: Views = MappingProxyType({}),
    ) -> None:
        """`catalog` may be a function, which is called by statements that name a table; see `Names` for `own_views`."""
        self._catalog = catalog
        self._warehouse = warehouse
        self._namespace = namespace
        self._memory_limit = memory_limit or machine_limit()
        self._own_views = own_views

    def run(self, sql: str) -> Iterator[Result]:
        """Answers to the statements of a text, one after the other; each sees one snapshot of every table.

        Raises QueryError for what cannot be answered (a statement that writes is refused before any has run) and
        ServiceUnavailable when the catalog or the object store does not answer.
        """
        for statement in split(sql):
            started = time.perf_counter()
            names = Names(self._catalog, self._warehouse, self._namespace, self._own_views)
            answer = show(statement, names) if shows(statement) else self._select(statement, names)
            yield replace(answer, elapsed_s=time.perf_counter() - started)

    def _select(self, statement: Statement, names: Names) -> Result:
        with session(self._memory_limit) as opened:
            translation = translate(statement, names, opened.evaluate)
            answer, files = self._run(opened, translation)
        answer = with_names(answer, translation.columns, translation.types)
        rows = typed_rows(answer, translation.types)
        return Result(translation.columns, rows, arrow=answer, types=tuple(map(str, translation.types)), files=files)

    def _run(self, opened: Session, translation: Translation) -> tuple[pa.Table, tuple[str, ...]]:
        streams: list[ScanStream] = []
        with answers():
            for scan in translation.scans:
                source = readable(scan)
                opened.register(scan.view, source)
                if isinstance(source, ScanStream):
                    streams.append(source)
        try:
            answer = _interruptible(opened, translation.sql, self._memory_limit // _ANSWER_SHARE)
            return answer, tuple(dict.fromkeys(path for stream in streams for path in stream.opened))
        except duckdb.Error as error:
            if was_interrupted(error):
                raise
            for failure in (stream.failure for stream in streams if stream.failure is not None):
                with answers():
                    raise failure from None
            if isinstance(error, duckdb.OutOfMemoryException):
                raise QueryError(
                    f"the statement needs more than {_megabytes(self._memory_limit)} of memory; nothing was changed. "
                    f"Ask for fewer rows or columns, or {OTHER_ENGINE}"
                ) from None
            raise QueryError(reason(error)) from None


def _interruptible(opened: Session, sql: str, most: int) -> pa.Table:
    """Run a statement so that Ctrl+C ends it: in the main thread DuckDB would see the signal only afterwards."""
    answer: Future[pa.Table] = Future()

    def run() -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(_fetch(opened, sql, most))
        except BaseException as error:
            answer.set_exception(error)

    try:
        threading.Thread(target=run, daemon=True).start()
        return answer.result()
    except KeyboardInterrupt:
        while not (answer.cancel() or answer.done()):  # DuckDB forgets one that comes before the statement runs
            opened.interrupt()
            wait([answer], timeout=_INTERRUPT_S)
        raise


def _fetch(opened: Session, sql: str, most: int) -> pa.Table:
    reader = opened.reader(sql, _BATCH_ROWS)
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in reader:
        batches.append(batch)
        size += batch.nbytes
        if size > most:
            raise QueryError(
                f"the answer is larger than {_megabytes(most)}; nothing was changed. Ask for fewer rows or columns "
                f"(LIMIT, WHERE), or {OTHER_ENGINE}"
            )
    return pa.Table.from_batches(batches, reader.schema)


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MiB"


def embedded_engine(settings: Settings, own_views: Views) -> Engine:
    """Make the engine; a catalog that does not answer shows with the first statement that names a table.

    `own_views` are views of the program's own, beside those of the catalog.
    """
    # The catalogs in question know views without saying so.
    properties = {**settings.catalog_properties(), "view-endpoints-supported": "true"}
    return Engine(cache(lambda: connect(properties)), settings.warehouse, settings.namespace, own_views=own_views)
