"""Statements in a real Spark: what they compute, what they fail on, what they cannot reach."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyspark.sql import SparkSession

from frazil.clients.kafka.headers import headers_of
from frazil.connectors.sql.query import SETTINGS
from frazil.connectors.sql.sink import SqlSink
from frazil.engine.jobs import SparkJobs
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from tests.connectors.broker import BOOTSTRAP
from tests.connectors.iceberg.driver import CREATE, SIMPLE, TABLE, TOLERANT, Memory, memory
from tests.connectors.samples import MINIMAL_SINK
from tests.connectors.sql.driver import ROWS, STATEMENT, SqlDriver

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the socket that DataFrame.collect reads to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning"),
]

SCHEMA = "id BIGINT NOT NULL, text STRING, items ARRAY<STRUCT<sku: STRING, n: INT>>, at TIMESTAMP, price DECIMAL(10, 2)"


@pytest.fixture
def patched() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture
def two() -> Iterator[Memory]:
    with memory({TABLE: SIMPLE, "db.names": SIMPLE}) as made:
        yield made


def record(number: int, **more: Any) -> bytes:
    return json.dumps({"id": number, **more}).encode()


def run(patched: pytest.MonkeyPatch, made: Memory, jobs: SparkJobs, sql: str, **more: str) -> SqlDriver:
    config: Mapping[str, str] = {"frazil.sql": sql, "frazil.sql.schema": SCHEMA, **more}
    driver = SqlDriver(patched, *made, config, executor=jobs.of("c"))
    driver.drain()
    return driver


def test_a_view_explodes_and_joins_and_its_failures_are_dead_letters_alone(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs
) -> None:
    broker, catalog = two
    catalog.load_table("db.names").append(pa.Table.from_pylist([{"id": 1, "text": "one"}], ROWS))
    items = [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}]
    broker.send("t", [record(n, text=str(n % 4), items=items, at="2026-01-01T00:00:00Z") for n in range(30)])
    broker.send("t", [b"no json", record(100, items=[]), None, record(101, text="1", items=items[:1])])
    sql = """
        CREATE TEMPORARY VIEW lines AS SELECT t.id, text, explode(items) AS item FROM t;
        SELECT CAST(100 / CAST(l.text AS INT) AS BIGINT) AS id, concat_ws(' ', l.item.sku, n.text) AS text
        FROM lines l LEFT JOIN db.names n ON CAST(l.text AS BIGINT) = n.id
    """
    driver = run(patched, two, jobs, sql, **TOLERANT)
    sound = [n for n in range(30) if n % 4]
    wanted = Counter[tuple[int, str]]()
    for number in [n % 4 for n in sound]:
        wanted.update((100 // number, f"{sku} one" if number == 1 else sku) for sku in "ab")
    wanted[100, "a one"] += 1
    assert Counter((row["id"], row["text"]) for row in driver.rows(TABLE)) == wanted
    assert sorted(broker.letters("t-dlq")) == [("t", 0, n, "") for n in [*range(0, 30, 4), 30]]
    reports = driver.reports
    assert sum(report.dead_letters for report in reports) == 9
    assert Counter[str]() + Counter(reports[0].skipped_by_reason) == {"statement": 1, "tombstone": 1}
    said = [dict(headers_of(one))["__connect.errors.exception.message"] or b"" for one in broker.records("t-dlq")]
    assert sum(b"[DIVIDE_BY_ZERO]" in each and b"(line 2, column 21)" in each for each in said) == 8
    assert driver.task.position == {("t", 0): 34}


def test_values_of_every_type_come_through_as_they_are(patched: pytest.MonkeyPatch, jobs: SparkJobs) -> None:
    with memory({}) as made:
        broker, catalog = made
        sent = record(1, text="ä\u0000'\"", at="2026-01-02T03:04:05.678901Z", price=12.30, items=[{"sku": "x", "n": 2}])
        broker.send("t", [sent], key=b"\x00k", headers=[("h", b"v"), ("n", None)], stamp=1_700_000_000_123)
        sql = """
            SELECT *, CAST(at AS TIMESTAMP_NTZ) AS local, CAST(at AS DATE) AS day, map('a', price) AS prices,
              named_struct('x', items[0].n) AS s, CAST(id AS DOUBLE) / 0.5e0 AS d, id = 1 AS yes, unhex('ff') AS bytes,
              _topic, _partition, _offset, _timestamp, _key, _headers, CAST(NULL AS INT) AS nothing
            FROM t
        """
        (row,) = run(patched, made, jobs, sql, **CREATE).rows(TABLE)
        shown = {name: str(value) for name, value in row.items()}
        assert shown == {
            "id": "1",
            "text": "ä\u0000'\"",
            "items": "[{'sku': 'x', 'n': 2}]",
            "at": "2026-01-02 03:04:05.678901+00:00",
            "price": "12.30",
            "local": "2026-01-02 03:04:05.678901",
            "day": "2026-01-02",
            "prices": "[('a', Decimal('12.30'))]",
            "s": "{'x': 2}",
            "d": "2.0",
            "yes": "True",
            "bytes": "b'\\xff'",
            "_topic": "t",
            "_partition": "0",
            "_offset": "0",
            "_timestamp": "2023-11-14 22:13:20.123000+00:00",
            "_key": "b'\\x00k'",
            "_headers": "[{'key': 'h', 'value': b'v'}, {'key': 'n', 'value': None}]",
            "nothing": "None",
        }


def test_rows_replace_those_with_their_key(patched: pytest.MonkeyPatch, jobs: SparkJobs) -> None:
    schema = Schema(NestedField(1, "id", LongType(), required=True), NestedField(2, "text", StringType()))
    with memory({TABLE: schema}) as made:
        made[0].send("t", [record(n, text=f"{n}") for n in range(50)])
        config = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}
        driver = run(patched, made, jobs, "SELECT id % 3 AS id, text FROM t", **config)
        assert {row["id"]: row["text"] for row in driver.rows(TABLE)} == {0: "48", 1: "49", 2: "47"}


def test_topics_are_read_together_and_a_large_batch_in_several_tasks(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs
) -> None:
    broker, _ = two
    broker.make("u-1", 2)
    broker.send("t", [record(n) for n in range(60_000)])
    broker.send("u-1", [record(n) for n in range(100)], partition=1)
    sql = "SELECT id, 't' AS text FROM t WHERE id % 2 = 0 UNION ALL SELECT id, 'u' FROM `u-1`"
    driver = run(patched, two, jobs, sql, topics="t,u-1")
    assert Counter(row["text"] for row in driver.rows(TABLE)) == {"t": 30_000, "u": 100}
    assert sum(report.read for report in driver.reports) == 60_100
    assert driver.task.position == {("t", 0): 60_000, ("u-1", 0): 0, ("u-1", 1): 100}


def test_all_topics_of_a_pattern_are_one_table(patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs) -> None:
    broker, _ = two
    broker.make("u", 1)
    for topic, first in (("t", 0), ("u", 10)):
        broker.send(topic, [record(first + n, text="x" if n == 3 else "1") for n in range(5)])
    sql = "SELECT CAST(text AS INT) + id - 1 AS id, _topic AS text FROM records WHERE _topic IN ('t', 'u')"
    config = {**TOLERANT, "topics": "", "topics.regex": "t|u", "errors.deadletterqueue.topic.name": "dead"}
    driver = run(patched, two, jobs, sql, **config)
    found = sorted((row["id"], row["text"]) for row in driver.rows(TABLE))
    assert found == [(n, "t" if n < 5 else "u") for n in (0, 1, 2, 4, 10, 11, 12, 14)]
    assert [*broker.letters("t-dlq"), *broker.letters("u-dlq")] == [("t", 0, 3, ""), ("u", 0, 3, "")]


def test_failures_are_found_in_every_branch_of_a_union_and_below_a_condition(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs
) -> None:
    broker, _ = two
    broker.make("u", 1)
    broker.send("t", [record(n, text="x" if n in (3, 700) else "1") for n in range(1000)])
    broker.send("u", [record(n, text="x" if n == 5 else "1") for n in range(10)])
    sql = """
        SELECT CAST(text AS BIGINT) AS id, 't' AS text FROM t WHERE CAST(text AS INT) > 0
        UNION ALL SELECT 100 DIV (id - 999), 'again' FROM t WHERE id > 998
        UNION ALL SELECT CAST(text AS BIGINT), 'u' FROM u
    """
    driver = run(patched, two, jobs, sql, topics="t,u", **TOLERANT)
    assert Counter(row["text"] for row in driver.rows(TABLE)) == {"t": 997, "u": 9}
    assert sorted(broker.letters("t-dlq")) == [("t", 0, n, "") for n in (3, 700, 999)]
    assert sorted(broker.letters("u-dlq")) == [("u", 0, 5, "")]


@pytest.mark.parametrize(
    "condition",
    ["text LIKE '%ab%ba'", "lower(text) RLIKE 'ab.*ba'", "exists(array(text), x -> regexp_like(x, 'ab.*ba'))"],
)
def test_a_text_that_would_keep_a_pattern_busy_for_hours_is_a_dead_letter_alone(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs, condition: str
) -> None:
    broker, _ = two
    broker.send("t", [record(n, text="ab" * 500_000 if n == 7 else ("ab ba", "ba ab")[n % 2]) for n in range(20)])
    driver = run(patched, two, jobs, f"SELECT id, text FROM t WHERE {condition}", **TOLERANT)  # noqa: S608
    assert sorted(row["id"] for row in driver.rows(TABLE)) == list(range(0, 20, 2))
    assert sorted(broker.letters("t-dlq")) == [("t", 0, 7, "")]


@pytest.mark.parametrize(
    "expression",
    [
        "aggregate(split(text, ','), 'x', (a, b) -> concat(a, a))",
        "aggregate(split(text, ','), array('x'), (a, b) -> concat(a, a))[0]",
        "CAST(CAST(replace(text, ',', '') AS DECIMAL(38)) AS STRING)",
        "from_json(concat('{\"n\": \"', replace(text, ',', ''), '\"}'), 'n DECIMAL(38)').n::STRING",
    ],
)
def test_a_value_that_would_fill_the_memory_or_take_hours_is_a_dead_letter_alone(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs, expression: str
) -> None:
    broker, _ = two
    broker.send("t", [record(n, text="1," * (100_000 if n == 7 else 3)) for n in range(20)])
    driver = run(patched, two, jobs, f"SELECT id, {expression} AS text FROM t", **TOLERANT)  # noqa: S608
    assert sorted(row["id"] for row in driver.rows(TABLE)) == [n for n in range(20) if n != 7]
    assert all(row["text"] is not None for row in driver.rows(TABLE))
    assert sorted(broker.letters("t-dlq")) == [("t", 0, 7, "")]


def test_a_cast_of_a_column_has_its_name(patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs) -> None:
    two[0].send("t", [record(1, text="x" * 2000), record(2, text="1.5")])
    sql = """
        SELECT id, TRY_CAST(text AS DECIMAL(2, 1)) FROM t
        UNION ALL SELECT id + 10, text::DECIMAL(2, 1) FROM t WHERE id > 1
    """
    config = {**CREATE, "iceberg.tables": "db.numbers"}
    driver = run(patched, two, jobs, sql, **config)
    rows = {row["id"]: str(row["text"]) for row in driver.rows("db.numbers")}
    assert rows == {1: "None", 2: "1.5", 12: "1.5"}


def test_a_record_that_is_too_long_for_the_stack_of_a_regular_expression_is_a_dead_letter_alone(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs
) -> None:
    broker, _ = two
    broker.send("t", [record(n, text="ab" * (500_000 if n == 7 else 3)) for n in range(20)])
    driver = run(patched, two, jobs, "SELECT id, text FROM t WHERE text RLIKE '^(a|b)*$'", **TOLERANT)
    assert sorted(row["id"] for row in driver.rows(TABLE)) == [n for n in range(20) if n != 7]
    assert sorted(broker.letters("t-dlq")) == [("t", 0, 7, "")]


@pytest.mark.parametrize(
    "expression",
    [
        "CAST(at - INTERVAL 1 DAY 2 HOURS AS STRING)",
        "CAST(at - INTERVAL 1 HOUR 5 MINUTES * 2 AS STRING)",
        "concat('it', r'\\s', '\\'' 'x', \"'\\\"\", '\\u0041\\101\\x\\%')",
        "CAST(array(id, 7)[1] + array(array(1, 2), array(3))[0][1] AS STRING)",
        "CAST(1.5BD * 3 AS STRING) || CAST(7 % 4 + 5 DIV 2 ^ 1 | 8 AS STRING)",
        "CAST(1 << 2 & 7 >> 1 | 8 AS STRING) || CAST(id IS DISTINCT FROM NULL AND id IS NOT DISTINCT FROM 1 AS STRING)",
        "CAST(CAST('1.50' AS DECIMAL(3, 1)) AS STRING) || CAST(TRY_CAST('x' AS DECIMAL) IS NULL AS STRING)",
        "aggregate(split('a,b', ','), '', (whole, each) -> concat(whole, each), whole -> upper(whole))",
        "CAST(aggregate(array(1, 2), named_struct('n', 0), (acc, x) -> named_struct('n', acc.n + x)).n AS STRING)",
        "CAST(NOT id NOT IN (1, 2) OR id <=> NULL IS NULL AS STRING)",
        "CAST(-id::STRING AS STRING) || EXTRACT(HOUR FROM at) || POSITION('b' IN 'abc') || TRIM(BOTH 'x' FROM 'xax')",
    ],
)
def test_an_expression_gives_what_spark_makes_of_it_as_it_was_written(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs, spark: SparkSession, expression: str
) -> None:
    two[0].send("t", [record(1, at="2026-01-02T03:04:05Z")])
    driver = run(patched, two, jobs, f"SELECT id, {expression} AS text FROM t")  # noqa: S608
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    written = session.sql(f"SELECT {expression} FROM (SELECT 1L AS id, TIMESTAMP'2026-01-02 03:04:05' AS at)")  # noqa: S608
    assert [row["text"] for row in driver.rows(TABLE)] == [written.collect()[0][0]]


def test_records_that_no_row_can_come_of_are_looked_at_all_the_same(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs
) -> None:
    broker, _ = two
    broker.send("t", [record(1), b"no json"])
    sql = "SELECT t.id, text FROM t LEFT SEMI JOIN db.names n ON t.id = n.id WHERE 1 = 0"
    driver = run(patched, two, jobs, sql, **TOLERANT)
    (report,) = driver.reports
    assert (report.read, report.dead_letters, report.skipped_by_reason) == (2, 1, {"statement": 1})


def test_the_plan_of_a_statement_has_the_columns_of_its_rows(jobs: SparkJobs) -> None:
    sql = "CREATE TEMPORARY VIEW v AS SELECT *, explode(items) AS item FROM t; SELECT id, item FROM v WHERE price > 1"
    config = {**MINIMAL_SINK, **STATEMENT, "name": "c", "frazil.sql": sql, "frazil.sql.schema": SCHEMA}
    plan = SqlSink(config, Settings.load({}), Bootstrap(BOOTSTRAP)).explain(lambda step: None, lambda: jobs.of("c"))
    assert plan.columns == {"id": "bigint", "item": "struct<sku:string,n:int>"}
    assert plan.steps.startswith("== Physical Plan ==")
    assert "explode(items" in plan.steps
    assert "Arguments: t(id" in plan.steps


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT id,\n  txet FROM t", r"line 2, column 3: \[UNRESOLVED_COLUMN.* \(at txet\)"),
        (
            "CREATE TEMPORARY VIEW v AS SELECT *,\n text.x AS y FROM t;\n SELECT id, y FROM v",
            r"line 2, column 2: .* \(at text.x\)",
        ),
        ("SELECT id, text, 1 AS id FROM t", "columns id are there twice"),
        ("SELECT id + text FROM t WHERE price", "price"),
        ("SELECT id, INTERVAL 1 DAY AS text FROM t", "which no table holds; CAST it"),
        ("SELECT upper(id, text) AS text FROM t", "upper"),
    ],
)
def test_a_statement_that_spark_refuses_is_an_error_at_the_start(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs, sql: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        run(patched, two, jobs, sql)
    assert "_frazil" not in str(raised.value)


def test_texts_of_a_statement_stand_for_nothing_of_the_worker(
    patched: pytest.MonkeyPatch, two: Memory, jobs: SparkJobs, spark: SparkSession
) -> None:
    two[0].send("t", [record(1)])
    driver = run(patched, two, jobs, "SELECT id, '${env:PATH} ${spark.app.name}' AS text FROM t")
    assert driver.rows(TABLE) == [{"id": 1, "text": "${env:PATH} ${spark.app.name}"}]
    assert spark.catalog.listTables() == [], "views of a connector are its own"
    assert not Path("spark-warehouse").exists(), "nothing is made where the worker was started"
