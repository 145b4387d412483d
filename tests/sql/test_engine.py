from __future__ import annotations

import signal
import threading
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.clients.catalog import connect
from frazil.environment.settings import Settings
from frazil.errors import QueryError, ServiceUnavailable
from frazil.sql import engine as embedded
from frazil.sql.engine import Engine, _interruptible
from frazil.sql.session import Session
from tests.sql.conftest import COMMITS, NAMESPACE, ROWS_PER_COMMIT, START, LogTables
from tests.sql.seeds import STATEMENTS
from tests.waits import PATIENCE_S

pytestmark = pytest.mark.stack

Row = dict[str, Any]


def test_the_seeds_statements_are_answered_as_they_stand(log_tables: LogTables) -> None:
    sql = STATEMENTS.replace("kafkawarehouse.streaming", f"kafkawarehouse.{NAMESPACE}")
    catalogs, schemas, tables, some, nested, counts, errors, audit, snapshots, history = log_tables.engine.run(sql)
    api, audits = log_tables.rows["apilogs"], log_tables.rows["auditlogs"]

    assert catalogs.rows == [("kafkawarehouse",)]
    assert (NAMESPACE,) in schemas.rows
    assert tables.rows == [("apilogs",), ("auditlogs",), ("empty",), ("errorlogs",)]
    assert some.row_count == 10
    assert some.columns == tuple(api[0])

    newest = sorted((row["time"] for row in api if row["bucket"] is not None), reverse=True)[:20]
    assert nested.columns == ("bucket", "name", "time", "status", "client_ip")
    assert [row[2] for row in nested.rows] == newest
    known = {
        (r["bucket"], r["name"], r["time"], r["callInfo"]["httpStatusCode"], r["callInfo"]["sourceHost"]) for r in api
    }
    assert set(nested.rows) <= known

    assert Counter(dict(counts.rows)) == Counter(row["name"] for row in api)
    assert [row[1] for row in counts.rows] == sorted((row[1] for row in counts.rows), reverse=True)
    assert errors.columns == ("time", "message", "apiName")
    assert errors.row_count == 10
    assert [row[2] for row in audit.rows] == sorted(
        (row["time"] for row in audits if row["category"] == "bucket"), reverse=True
    )[:10]
    assert snapshots.row_count == history.row_count == COMMITS
    assert all(row[0].tzinfo is not None for row in history.rows)


def test_star_gives_back_every_value(log_tables: LogTables) -> None:
    for name, rows in log_tables.rows.items():
        [result] = log_tables.engine.run(f"SELECT * FROM {name}")  # noqa: S608
        assert result.columns == tuple(rows[0])
        found = {repr(_without_nulls(dict(zip(result.columns, row, strict=True)))) for row in result.rows}
        assert found == {repr(_without_nulls(row)) for row in rows}
        assert result.row_count == len(rows)


def _without_nulls(value: Any) -> Any:
    """Sorted, with a time that prints alike whatever class its zone has, and no fields that were left out."""
    if isinstance(value, dict):
        return sorted((key, _without_nulls(item)) for key, item in value.items() if item is not None)
    return value.astimezone(UTC) if isinstance(value, datetime) else value


CONDITIONS: list[tuple[str, Any]] = [
    ("bucket = 'photos'", lambda r: r["bucket"] == "photos"),
    ("'photos' = BUCKET", lambda r: r["bucket"] == "photos"),
    ("bucket = ''", lambda r: r["bucket"] == ""),
    ("bucket = 'it''s'", lambda r: r["bucket"] == "it's"),
    ("bucket IN ('photos', 'Fotos-ünïcode')", lambda r: r["bucket"] in ("photos", "Fotos-ünïcode")),
    ("bucket IS NULL", lambda r: r["bucket"] is None),
    ("bucket IS NOT NULL", lambda r: r["bucket"] is not None),
    ("bucket <> 'logs'", lambda r: r["bucket"] not in ("logs", None)),
    ("name = 'nosuch' OR bucket >= 'logs'", lambda r: r["bucket"] is not None and r["bucket"] >= "logs"),
    ("bucket >= 'logs'", lambda r: r["bucket"] is not None and r["bucket"] >= "logs"),
    ("NOT bucket = 'logs'", lambda r: r["bucket"] not in ("logs", None)),
    ("origin = ''", lambda r: r["origin"] == ""),
    ("origin = 'client'", lambda r: r["origin"] == "client"),
    ("node BETWEEN 'node-1' AND 'node-2'", lambda r: r["node"] >= "node-1"),
    ("NOT node BETWEEN 'node-1' AND 'node-2'", lambda r: r["node"] < "node-1"),
    ("name LIKE 's3.P%'", lambda r: r["name"].startswith("s3.P")),
    ('"callInfo"."httpStatusCode" >= 404', lambda r: r["callInfo"]["httpStatusCode"] >= 404),
    ("tags['number'] = '7'", lambda r: (r["tags"] or {}).get("number") == "7"),
    ("time >= TIMESTAMP '2025-01-16 00:00:00 UTC'", lambda r: r["time"] >= datetime(2025, 1, 16, tzinfo=UTC)),
    ("time < TIMESTAMP '2025-01-16 01:00:00 +01:00'", lambda r: r["time"] < datetime(2025, 1, 16, tzinfo=UTC)),
    ("time < TIMESTAMP '2025-01-16 00:00:00'", lambda r: r["time"] < datetime(2025, 1, 16, tzinfo=UTC)),
    ("time > DATE '2025-01-16'", lambda r: r["time"] > datetime(2025, 1, 16, tzinfo=UTC)),
    ("date(time) = DATE '2025-01-16'", lambda r: r["time"].date().isoformat() == "2025-01-16"),
]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS)
def test_a_condition_selects_what_python_selects(log_tables: LogTables, condition: str, holds: Any) -> None:
    found = log_tables.answer(f"SELECT object FROM apilogs WHERE {condition}")  # noqa: S608
    assert sorted(found) == sorted((row["object"],) for row in log_tables.rows["apilogs"] if holds(row))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=3),
    glue=st.sampled_from(["AND", "OR"]),
    minutes=st.integers(0, 6000),
    order=st.sampled_from(["<", "<=", ">", ">=", "="]),
)
def test_conditions_combined_select_what_python_selects(
    log_tables: LogTables, parts: list[tuple[str, Any]], glue: str, minutes: int, order: str
) -> None:
    limit = START + timedelta(minutes=minutes)
    compare = {"<": limit.__gt__, "<=": limit.__ge__, ">": limit.__lt__, ">=": limit.__le__, "=": limit.__eq__}[order]
    combine = all if glue == "AND" else any
    where = f" {glue} ".join(f"({condition})" for condition, _ in parts)
    sql = f"SELECT object FROM apilogs a WHERE ({where}) AND a.time {order} TIMESTAMP '{limit:%Y-%m-%d %H:%M:%S} UTC'"  # noqa: S608
    expected = [
        (row["object"],)
        for row in log_tables.rows["apilogs"]
        if combine(holds(row) for _, holds in parts) and compare(row["time"])
    ]
    assert sorted(log_tables.answer(sql)) == sorted(expected)


def test_only_the_files_of_a_day_and_a_bucket_are_opened(log_tables: LogTables) -> None:
    table = log_tables.catalog.load_table((NAMESPACE, "apilogs"))
    day, bucket = date(2025, 1, 16), "photos"
    wanted = {
        task.file.file_path
        for task in table.scan().plan_files()
        if (task.file.partition[0], task.file.partition[1]) == (_days(day), bucket)
    }
    rows = [r for r in log_tables.rows["apilogs"] if r["time"].date() == day and r["bucket"] == bucket]
    condition = "date(time) = DATE '2025-01-16' AND bucket = 'photos'"
    assert 0 < len(wanted) < len(list(table.scan().plan_files()))
    for sql in (
        f'SELECT count("callInfo".tx) FROM apilogs WHERE {condition}',  # noqa: S608
        f'WITH a AS (SELECT * FROM apilogs) SELECT count("callInfo".tx) FROM a WHERE {condition}',  # noqa: S608
        f'SELECT count(t) FROM (SELECT time, bucket, "callInfo".tx AS t FROM apilogs) WHERE {condition}',  # noqa: S608
    ):
        [result] = log_tables.engine.run(sql)
        assert result.rows == [(len(rows),)]
        assert set(result.files or ()) == wanted


def _days(day: date) -> int:
    return (day - date(1970, 1, 1)).days


def test_hidden_columns_are_those_of_the_files(log_tables: LogTables) -> None:
    found = log_tables.answer('SELECT DISTINCT "$path", "$partition", "$file_modified_time" FROM auditlogs')
    files = {
        file.file.file_path: file.file
        for file in log_tables.catalog.load_table((NAMESPACE, "auditlogs")).scan().plan_files()
    }
    assert {path for path, _, _ in found} == set(files)
    for path, partition, modified in found:
        assert partition.split("/")[1] == f"category={files[path].partition[1]}"
        assert abs(datetime.now(UTC) - modified) < timedelta(hours=1)
    assert log_tables.answer('SELECT count("$path"), count(DISTINCT "$path") FROM auditlogs') == [
        (len(log_tables.rows["auditlogs"]), len(files))
    ]


def test_older_versions_are_read(log_tables: LogTables) -> None:
    table = log_tables.catalog.load_table((NAMESPACE, "apilogs"))
    first, second, last = table.metadata.snapshots
    table.manage_snapshots().create_tag(second.snapshot_id, "then").commit()
    try:
        for version, commits in (
            (f"VERSION AS OF {first.snapshot_id}", 1),
            ("VERSION AS OF 'then'", 2),
            ("VERSION AS OF 'main'", 3),
            (f"TIMESTAMP AS OF from_unixtime({first.timestamp_ms / 1000}e0)", 1),
            (f"TIMESTAMP AS OF from_unixtime({last.timestamp_ms / 1000}e0) + INTERVAL '1' DAY", 3),
        ):
            sql = f"SELECT count(*), count(object), max(time) FROM apilogs FOR {version} AS a WHERE a.node IS NOT NULL"  # noqa: S608
            rows = log_tables.rows["apilogs"][: commits * ROWS_PER_COMMIT]
            assert log_tables.answer(sql) == [(len(rows), len(rows), max(row["time"] for row in rows))]
    finally:
        table.refresh().manage_snapshots().remove_tag("then").commit()


def test_a_version_has_the_columns_of_its_time(log_tables: LogTables) -> None:
    schema = Schema(NestedField(1, "a", LongType(), required=False), NestedField(2, "b", LongType(), required=False))
    table = log_tables.catalog.create_table((NAMESPACE, "versions"), schema)
    try:
        table.append(pa.table({"a": pa.array([1], pa.int64()), "b": pa.array([10], pa.int64())}))
        first = table.metadata.current_snapshot_id
        with table.update_schema() as update:
            update.rename_column("b", "c").add_column("d", LongType())
        table.append(
            pa.table({"a": pa.array([2], pa.int64()), "c": pa.array([20], pa.int64()), "d": pa.array([5], pa.int64())})
        )
        old = f"versions FOR VERSION AS OF {first}"
        assert log_tables.answer(f"SELECT * FROM {old}") == [(1, 10)]  # noqa: S608
        assert log_tables.answer(f"SELECT b FROM {old} WHERE b = 10") == [(10,)]  # noqa: S608
        assert log_tables.answer("SELECT * FROM versions ORDER BY a") == [(1, 10, None), (2, 20, 5)]
    finally:
        log_tables.catalog.drop_table((NAMESPACE, "versions"))


def test_aggregates_joins_and_map_entries(log_tables: LogTables) -> None:
    rows = log_tables.rows["apilogs"]
    assert log_tables.answer("SELECT count(*) FROM apilogs") == [(len(rows),)]
    assert log_tables.answer('SELECT sum("callInfo".tx), 5 / 2 FROM apilogs') == [
        (sum(row["callInfo"]["tx"] for row in rows), 2)
    ]
    assert log_tables.answer("SELECT count(*) FROM apilogs a JOIN apilogs b ON a.object = b.object") == [(len(rows),)]
    entries = log_tables.answer("SELECT k, v FROM apilogs CROSS JOIN UNNEST(tags) AS t (k, v)")
    assert Counter(entries) == Counter(pair for row in rows for pair in (row["tags"] or {}).items())
    twice = "WITH a AS (SELECT object FROM apilogs) SELECT count(*) FROM a x JOIN a y ON x.object = y.object"
    assert log_tables.answer(twice) == [(len(rows),)]


def test_limit_and_offset(log_tables: LogTables) -> None:
    total = COMMITS * ROWS_PER_COMMIT
    assert len(log_tables.answer("SELECT object FROM apilogs LIMIT 7")) == 7
    assert len(log_tables.answer("SELECT object FROM apilogs OFFSET 3 LIMIT 7")) == 7
    assert len(log_tables.answer(f"SELECT object FROM apilogs LIMIT {total * 2}")) == total  # noqa: S608
    assert log_tables.answer("SELECT count(*) FROM apilogs LIMIT 1") == [(total,)]
    assert len(log_tables.answer("SELECT DISTINCT name FROM apilogs LIMIT 3")) == 3


def test_an_empty_table_has_columns_and_no_rows(log_tables: LogTables) -> None:
    [rows, count, snapshots] = log_tables.engine.run(
        'SELECT * FROM empty; SELECT count(*), max(time) FROM empty; SELECT * FROM "empty$snapshots"'
    )
    assert rows.columns == ("version", "node", "time", "message", "apiName", "tags", "trace")
    assert rows.rows == snapshots.rows == []
    assert count.rows == [(0, None)]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT nosuch FROM apilogs", "column nosuch cannot be resolved; SHOW COLUMNS"),
        ("SELECT name + 1 FROM apilogs", "is not calculated"),
        ("SELECT getenv('HOME')", "does not answer the function getenv; ask Trino with --engine trino"),
        ("SELECT tags['nosuch'] FROM apilogs", "Key not present in map: nosuch; element_at gives NULL"),
        ("SELECT trace.source[9] FROM errorlogs", "must be less than or equal to array length"),
        ("SELECT 1 / (count(*) - count(*)) FROM apilogs", "Division by zero"),
        ("SELECT bucket, count(*) FROM apilogs", "must appear in the GROUP BY clause"),
        ("SELECT (SELECT bucket FROM apilogs)", "More than one row returned by a subquery"),
    ],
)
def test_what_the_engine_refuses_is_a_query_error(log_tables: LogTables, sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as caught:
        log_tables.answer(sql)
    assert "frazil scan" not in str(caught.value)


def test_a_statement_that_needs_too_much_memory_ends(log_tables: LogTables) -> None:
    engine = Engine(log_tables.catalog, "kafkawarehouse", NAMESPACE, memory_limit=64 << 20)
    with pytest.raises(QueryError, match="more than 64 MiB of memory.*--engine trino"):
        list(engine.run("SELECT array_agg(rpad(x.object, 30000, '.') ORDER BY y.object) FROM apilogs x, apilogs y"))


def test_an_answer_that_is_too_large_ends(log_tables: LogTables) -> None:
    engine = Engine(log_tables.catalog, "kafkawarehouse", NAMESPACE, memory_limit=64 << 20)
    with pytest.raises(QueryError, match="the answer is larger than 4 MiB.*LIMIT"):
        list(engine.run("SELECT x.object, y.object FROM apilogs x, apilogs y, (VALUES 1, 2, 3) AS t (n)"))


def interrupt() -> None:
    """Press Ctrl+C."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


def test_an_interrupt_ends_a_long_statement(log_tables: LogTables, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = embedded._fetch  # noqa: SLF001

    def interrupted(opened: Session, sql: str, most: int) -> pa.Table:
        monkeypatch.undo()
        threading.Timer(1, interrupt).start()
        return fetch(opened, sql, most)

    monkeypatch.setattr(embedded, "_fetch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        log_tables.answer(
            "SELECT count(*) FROM apilogs a, apilogs b, apilogs c, apilogs d, apilogs e, apilogs f, apilogs g "
            "WHERE a.object < g.name"
        )
    assert log_tables.answer("SELECT 1") == [(1,)]


class Forgetful(Session):
    """Ends what it runs at the second interrupt, as DuckDB does where the first one comes too early."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection)
        self.interrupts = threading.Semaphore(0)

    def reader(self, sql: str, rows: int) -> pa.RecordBatchReader:
        for _ in range(2):
            assert self.interrupts.acquire(timeout=PATIENCE_S)
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    def interrupt(self) -> None:
        self.interrupts.release()


def test_an_interrupt_that_duckdb_forgets_is_said_again() -> None:
    class Pressed(Forgetful):
        def reader(self, sql: str, rows: int) -> pa.RecordBatchReader:
            interrupt()
            return super().reader(sql, rows)

    with duckdb.connect(":memory:") as connection, pytest.raises(KeyboardInterrupt):
        _interruptible(Pressed(connection), "SELECT 1", 1)


def test_an_interrupt_while_a_statement_begins_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[threading.Thread] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            begun.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr(threading, "Thread", Interrupted)
    with duckdb.connect(":memory:") as connection, pytest.raises(KeyboardInterrupt):
        _interruptible(Forgetful(connection), "SELECT 1", 1)
    begun[0].join(PATIENCE_S)
    assert not begun[0].is_alive()


def test_a_store_that_is_gone_is_named(log_tables: LogTables, free_ports: Any) -> None:
    [port] = free_ports(1)
    nowhere = f"http://127.0.0.1:{port}"
    reachable = dict(log_tables.stack.settings.catalog_properties())
    engine = Engine(connect({**reachable, "s3.endpoint": nowhere}), "kafkawarehouse", NAMESPACE)
    with pytest.raises(ServiceUnavailable, match="cannot be read"):
        list(engine.run("SELECT max(time) FROM apilogs"))


def test_a_catalog_that_is_gone_is_named(free_ports: Any) -> None:
    [port] = free_ports(1)
    gone = Settings({"ICEBERG_CATALOG_PORT": str(port)})
    with pytest.raises(ServiceUnavailable, match="does not answer"):
        connect(gone.catalog_properties())
