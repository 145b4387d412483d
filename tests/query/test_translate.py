from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.query.show import shows
from frazil.query.statements import split
from frazil.query.translate import Translation, translate
from tests.query.catalogs import LOG_TABLES, MetadataCatalog, log_names
from tests.query.seeds import STATEMENTS


def translated(sql: str) -> Translation:
    [statement] = split(sql)
    return translate(statement, log_names())


def test_every_select_of_the_seeds_is_translated() -> None:
    found = [translate(s, log_names()) for s in split(STATEMENTS) if not shows(s)]
    assert [t.sql for t in found] == [
        'SELECT * FROM "frazil scan 0" AS "apilogs" LIMIT 10',
        'SELECT bucket, name, time, "callInfo"."httpStatusCode" AS status, "callInfo"."sourceHost" AS client_ip '
        'FROM "frazil scan 0" AS "apilogs" WHERE NOT bucket IS NULL ORDER BY time DESC LIMIT 20',
        'SELECT name, COUNT(*) AS count FROM "frazil scan 0" AS "apilogs" GROUP BY name ORDER BY count DESC',
        'SELECT time, message, "apiName" FROM "frazil scan 0" AS "errorlogs" ORDER BY time DESC LIMIT 10',
        'SELECT category, action, time, "accessKey" FROM "frazil scan 0" AS "auditlogs" '
        "WHERE category = 'bucket' ORDER BY time DESC LIMIT 10",
        'SELECT * FROM "frazil scan 0" AS "apilogs$snapshots"',
        'SELECT * FROM "frazil scan 0" AS "apilogs$history"',
    ]
    scans = [t.scans[0] for t in found]
    assert scans[0].limit == 10
    assert [scan.limit for scan in scans[1:]] == [None] * 6
    assert scans[1].columns == ("time", "name", "bucket", "callInfo.httpStatusCode", "callInfo.sourceHost")
    assert scans[2].columns == ("name",)
    assert scans[4].columns == ("time", "category", "action", "accessKey")
    assert [scan.source.metadata for scan in scans] == [None] * 5 + ["snapshots", "history"]


@pytest.mark.parametrize(
    "table",
    [
        "apilogs",
        "APILOGS",
        '"ApiLogs"',
        "streaming.apilogs",
        "Streaming.ApiLogs",
        "kafkawarehouse.streaming.apilogs",
        'KAFKAWAREHOUSE."streaming".apilogs',
    ],
)
def test_names_are_resolved_without_regard_to_case(table: str) -> None:
    found = translated(f"SELECT Bucket FROM {table} WHERE BUCKET = 'a'")  # noqa: S608
    assert found.scans[0].source.table.name() == ("streaming", "apilogs")
    assert found.scans[0].columns == ("bucket",)
    assert "EqualTo" in str(found.scans[0].row_filter)


def test_columns_may_be_qualified_by_schema_and_catalog() -> None:
    found = translated(
        'SELECT streaming.apilogs.bucket, kafkawarehouse.streaming.apilogs."callInfo".tx, '
        'streaming.apilogs."callInfo".rx FROM kafkawarehouse.streaming.apilogs'
    )
    assert found.sql == (
        'SELECT apilogs.bucket, apilogs."callInfo".tx, apilogs."callInfo".rx FROM "frazil scan 0" AS "apilogs"'
    )


def test_each_reference_is_a_scan_and_a_table_is_loaded_once() -> None:
    from frazil.query.names import Names

    catalog = MetadataCatalog(LOG_TABLES)
    [statement] = split("SELECT * FROM apilogs a JOIN apilogs b ON a.time = b.time WHERE a.bucket = 'x'")
    found = translate(statement, Names(catalog, "w", "streaming"))
    assert len(found.scans) == 2
    assert catalog.loads == 1
    assert {str(scan.row_filter) for scan in found.scans} == {"AlwaysTrue()"}


@pytest.mark.parametrize(
    ("sql", "scans"),
    [
        ("WITH apilogs AS (SELECT * FROM apilogs) SELECT * FROM apilogs", 1),
        ("WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT * FROM a, b", 0),
        ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT * FROM n", 0),
        ("SELECT * FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a) CROSS JOIN errorlogs", 1),
        ("SELECT (SELECT max(time) FROM errorlogs) FROM apilogs", 2),
        ("SELECT bucket FROM apilogs UNION SELECT bucket FROM auditlogs", 2),
        ("TABLE apilogs", 1),
        ("VALUES (1, 'a'), (2, 'b')", 0),
        ("SELECT * FROM UNNEST(ARRAY[1, 2]) AS t(x)", 0),
    ],
)
def test_with_queries_hide_tables_where_they_are_in_scope(sql: str, scans: int) -> None:
    assert len(translated(sql).scans) == scans


def test_a_with_query_is_not_in_scope_outside() -> None:
    with pytest.raises(QueryError, match=r"there is no table streaming\.a"):
        translated("SELECT * FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a) CROSS JOIN a")


def test_unnamed_expressions_get_trinos_labels() -> None:
    assert translated("SELECT count(*), bucket, 1 + 1, max(time) AS t FROM apilogs GROUP BY bucket").labels == {
        0: "_col0",
        2: "_col2",
    }


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM read_csv('/etc/passwd')", "table function READ_CSV"),
        ("SELECT * FROM read_parquet('s3://a/b')", "table function READ_PARQUET"),
        ("SELECT * FROM read_text('/etc/passwd')", "table function READ_TEXT"),
        ("SELECT * FROM query('drop table t')", "table function QUERY"),
        ("SELECT * FROM duckdb_settings()", "table function DUCKDB_SETTINGS"),
        ("SELECT * FROM TABLE(sequence(1, 3))", "table function"),
        ("SELECT * FROM '/etc/passwd'", "there is no table streaming./etc/passwd"),
        ('SELECT * FROM "/etc/passwd"', "there is no table streaming./etc/passwd"),
        ('SELECT * FROM "a\'; DROP TABLE x; --"', "there is no table"),
        ("SELECT * FROM nosuch", "known tables: apilogs, auditlogs, errorlogs"),
        ("SELECT * FROM other.apilogs", "there is no schema other; known schemas: streaming"),
        ("SELECT * FROM other.streaming.apilogs", "there is no catalog other; there is kafkawarehouse"),
        ("SELECT * FROM a.b.c.d", "too many parts"),
        ('SELECT * FROM "apilogs$secrets"', r"there are apilogs\$snapshots"),
        ("SELECT * FROM information_schema.tables", "there is no schema information_schema"),
        ("SELECT apilogs FROM apilogs", "it is the name of a table"),
        ("SELECT * FROM apilogs FOR VERSION AS OF 1", "FOR VERSION"),
    ],
)
def test_what_cannot_be_answered_says_why(sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        translated(sql)


def test_comments_and_quotes_stay_data() -> None:
    found = translated("SELECT '*/ -- ''x''' AS \"we\"\"ird\" /* ' */ FROM apilogs -- */ DROP")
    assert found.sql == 'SELECT \'*/ -- \'\'x\'\'\' AS "we""ird" FROM "frazil scan 0" AS "apilogs"'
