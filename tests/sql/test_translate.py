from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.sql.names import Names
from frazil.sql.session import session
from frazil.sql.show import shows
from frazil.sql.statements import split
from frazil.sql.translate import Translation, check, translate
from tests.sql.catalogs import LOG_TABLES, MetadataCatalog, computed, log_names, translated
from tests.sql.corpus import statements
from tests.sql.seeds import STATEMENTS


def test_every_select_of_the_seeds_is_translated() -> None:
    found: list[Translation] = []
    for statement in split(STATEMENTS):
        if not shows(statement):
            with session(256 << 20) as opened:
                found.append(translate(statement, log_names(), opened.evaluate))
    scans = [translation.scans[0] for translation in found]
    assert scans[0].limit == 10
    assert [scan.limit for scan in scans[1:]] == [None] * 6
    assert scans[1].columns == ("time", "name", "bucket", "callInfo.httpStatusCode", "callInfo.sourceHost")
    assert scans[2].columns == ("name",)
    assert scans[4].columns == ("time", "category", "action", "accessKey")
    assert [scan.source.metadata for scan in scans] == [None] * 5 + ["snapshots", "history"]
    assert found[1].columns == ("bucket", "name", "time", "status", "client_ip")
    assert [str(kind) for kind in found[1].types] == [
        "varchar",
        "varchar",
        "timestamp(6) with time zone",
        "integer",
        "varchar",
    ]


def test_each_reference_is_a_scan_and_a_table_is_loaded_once() -> None:
    catalog = MetadataCatalog(LOG_TABLES)
    [statement] = split("SELECT * FROM apilogs a JOIN apilogs b ON a.time = b.time WHERE a.bucket = 'x'")
    found = translate(statement, Names(catalog, "w", "streaming"), lambda sql: sql.strip("'"))
    assert len(found.scans) == 2
    assert catalog.loads == 1
    assert [str(scan.row_filter) for scan in found.scans] == [
        "EqualTo(term=Reference(name='bucket'), literal=literal('x'))",
        "AlwaysTrue()",
    ]


@pytest.mark.parametrize(
    ("sql", "scans"),
    [
        ("WITH apilogs AS (SELECT * FROM apilogs) SELECT * FROM apilogs", 1),
        ("WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT * FROM a, b", 0),
        ("SELECT * FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a) CROSS JOIN errorlogs", 1),
        ("WITH a AS (SELECT * FROM apilogs) SELECT * FROM a x JOIN a y ON x.time = y.time", 2),
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
    found = translated("SELECT count(*), bucket, 1 + 1, max(time) AS t FROM apilogs GROUP BY bucket")
    assert found.columns == ("_col0", "bucket", "_col2", "t")
    assert translated("VALUES (1, 2)").columns == ("_col0", "_col1")


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM read_csv('/etc/passwd')", "table function READ_CSV"),
        ("SELECT * FROM read_parquet('s3://a/b')", "table function READ_PARQUET"),
        ("SELECT * FROM query('drop table t')", "table function QUERY"),
        ("SELECT * FROM duckdb_settings()", "table function DUCKDB_SETTINGS"),
        ("SELECT * FROM TABLE(sequence(1, 3))", "does not answer"),
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
        ("SELECT nosuch FROM apilogs", "column nosuch cannot be resolved; SHOW COLUMNS"),
        ('SELECT "callInfo".nosuch FROM apilogs', "no field of that name in row"),
        ("SELECT time FROM apilogs, errorlogs", "column time is ambiguous"),
        ("SELECT bucket AS b FROM apilogs WHERE b = 'x'", "column b cannot be resolved"),
        ("SELECT bucket AS b, count(*) FROM apilogs GROUP BY b", "column b cannot be resolved"),
        ("SELECT * FROM apilogs WHERE count(*) > 1", "WHERE cannot hold an aggregate"),
        ("SELECT * FROM apilogs WHERE bucket = 5", "varchar = integer: values of these types"),
        ("SELECT name || 1 FROM apilogs", r"varchar \|\| integer"),
        ("SELECT * FROM apilogs WHERE bucket", "a condition is needed, not a value of type varchar"),
        ("SELECT lenght('a')", "the function lenght is not known here; did you mean length?"),
        (
            "SELECT row_nubmer() OVER () FROM apilogs",
            "the function row_nubmer is not known here; did you mean row_number?",
        ),
        ("SELECT nosuch(1)", "the function nosuch; ask Trino with --engine trino"),
        ("SELECT regexp_like(1, 'a')", r"regexp_like\(integer, varchar\) is not known here; there is"),
        ("SELECT upper('a') OVER ()", "neither an aggregate nor a window function"),
        ("SELECT row_number() FROM apilogs", "it needs OVER"),
        ("SELECT * FROM apilogs TABLESAMPLE BERNOULLI (10)", "TABLESAMPLE"),
        ("SELECT * FROM apilogs ORDER BY time FETCH FIRST 3 ROWS WITH TIES", "WITH TIES"),
        ("SELECT 1 ORDER BY 2", "ORDER BY 2: the query has fewer columns"),
        ("SELECT 1 UNION SELECT 1, 2", "UNION: one side has 1 columns, the other 2"),
        ("SELECT 1 UNION SELECT 'a'", "column 1 is integer on one side and varchar on the other"),
        ("SELECT date_format(time, '%D') FROM apilogs", "%D in the pattern"),
        ("SELECT date_trunc('decade', time) FROM apilogs", "has no unit 'decade'"),
        ("SELECT time AT TIME ZONE 'Mars/Olympus' FROM apilogs", "no time zone 'Mars/Olympus'"),
    ],
)
def test_what_cannot_be_answered_says_why(sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        translated(sql)


def test_comments_and_quotes_stay_data() -> None:
    found = translated("SELECT '*/ -- ''x''' AS \"we\"\"ird\" /* ' */ FROM apilogs -- */ DROP")
    assert found.columns == ('we"ird',)
    assert "'*/ -- ''x'''" in found.sql
    assert "DROP" not in found.sql


def test_control_characters_are_data() -> None:
    assert computed("SELECT array_agg('a\x01> || b')") == [(["a\x01> || b"],)]
    with pytest.raises(QueryError, match=r"U\+0000"):
        translated("SELECT 'a\x00b'")


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("SELECT * FROM t TABLESAMPLE BERNOULLI (10)", "SAMPLE in"),
        ("SELECT * EXCEPT (a) FROM t", "EXCEPT in"),
        ("SELECT a BETWEEN SYMMETRIC 2 AND 1 FROM t", "SYMMETRIC in"),
        ("SELECT a FROM t FETCH FIRST 3 ROWS WITH TIES", "WITH TIES in"),
        ("SELECT sum(a) OVER (ORDER BY a ROWS UNBOUNDED PRECEDING EXCLUDE TIES) FROM t", "EXCLUDE in"),
        ("WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n", "RECURSIVE in"),
        ("SELECT listagg(a, ',') WITHIN GROUP (ORDER BY a) FROM t", "this use of WITHINGROUP"),
        ("SELECT transform(a, x -> x + 1) FROM t", "this use of LAMBDA"),
        ("SELECT * FROM a NATURAL JOIN b", "METHOD in"),
        ("SELECT * FROM a, LATERAL (SELECT 1)", "this use of LATERAL"),
        ("SELECT * FROM a UNION BY NAME SELECT * FROM b", "BY NAME in"),
    ],
)
def test_parts_that_are_not_translated_are_refused(sql: str, part: str) -> None:
    [statement] = split(sql)
    with pytest.raises(QueryError, match=f"does not answer {part}"):
        check(statement.parse())


def test_the_corpus_and_the_seeds_pass() -> None:
    for sql in (*statements().values(), STATEMENTS):
        for statement in split(sql):
            if statement.keyword not in ("SHOW", "DESCRIBE"):
                check(statement.parse())
