from __future__ import annotations

import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.expressions.parser import parse as iceberg_expression

from frazil.errors import QueryError
from frazil.minio.records.tables import API_SCHEMA
from frazil.sql.newest import Newest
from tests.sql.catalogs import translated

ALL = tuple(field.name for field in API_SCHEMA.fields)


def of(sql: str) -> Newest | None:
    return translated(sql).scans[0].newest


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT * FROM apilogs ORDER BY time DESC LIMIT 20", 20),
        ("SELECT * FROM apilogs ORDER BY time DESC OFFSET 5 LIMIT 20", 25),
        ('SELECT bucket, "callInfo"."httpStatusCode" AS s FROM apilogs a ORDER BY a.time DESC, bucket LIMIT 3', 3),
        ("SELECT time AS time FROM apilogs ORDER BY time DESC NULLS LAST LIMIT 3", 3),
        ("SELECT * FROM apilogs WHERE bucket IS NOT NULL AND (name = 'x' OR node = 'y') ORDER BY time DESC LIMIT 1", 1),
        ("SELECT time FROM apilogs ORDER BY 1 DESC LIMIT 3", 3),
        ("WITH a AS (SELECT * FROM apilogs ORDER BY time DESC LIMIT 3) SELECT bucket FROM a WHERE bucket = 'x'", 3),
        ("SELECT count(*) FROM (SELECT time FROM apilogs ORDER BY time DESC LIMIT 7) x", 7),
    ],
)
def test_statements_that_want_the_newest_rows(sql: str, rows: int) -> None:
    assert of(sql) == Newest("time", rows)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM apilogs ORDER BY time DESC",
        "SELECT * FROM apilogs LIMIT 20",
        "SELECT * FROM apilogs ORDER BY time LIMIT 20",
        "SELECT * FROM apilogs ORDER BY time DESC NULLS FIRST LIMIT 20",
        "SELECT * FROM apilogs ORDER BY bucket DESC LIMIT 20",
        "SELECT * FROM apilogs ORDER BY date(time) DESC LIMIT 20",
        "SELECT version, time FROM apilogs ORDER BY 1 DESC LIMIT 20",
        "SELECT * FROM (SELECT * FROM apilogs WHERE lower(bucket) = 'x') ORDER BY time DESC LIMIT 20",
        "WITH a AS (SELECT * FROM apilogs WHERE lower(bucket) = 'x') SELECT * FROM a ORDER BY time DESC LIMIT 20",
        "SELECT * FROM apilogs ORDER BY bucket, time DESC LIMIT 20",
        "SELECT bucket AS time FROM apilogs ORDER BY time DESC LIMIT 20",
        "SELECT DISTINCT time FROM apilogs ORDER BY time DESC LIMIT 20",
        "SELECT time, count(*) FROM apilogs GROUP BY time ORDER BY time DESC LIMIT 20",
        "SELECT time, row_number() OVER (ORDER BY bucket) FROM apilogs ORDER BY time DESC LIMIT 20",
        "SELECT a.time FROM apilogs a CROSS JOIN errorlogs ORDER BY a.time DESC LIMIT 20",
        "SELECT time FROM apilogs CROSS JOIN UNNEST(map_keys(tags)) AS t(k) ORDER BY time DESC LIMIT 20",
        "SELECT * FROM apilogs WHERE lower(bucket) = 'x' ORDER BY time DESC LIMIT 20",
        "SELECT * FROM apilogs WHERE bucket = 'x' AND length(name) > 2 ORDER BY time DESC LIMIT 20",
        "SELECT * FROM apilogs WHERE node = 'y' OR (bucket = 'x' AND length(name) > 2) ORDER BY time DESC LIMIT 20",
        "SELECT * FROM apilogs WHERE bucket IN (SELECT bucket FROM errorlogs) ORDER BY time DESC LIMIT 20",
    ],
)
def test_statements_that_need_every_file(sql: str) -> None:
    assert of(sql) is None


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT count(*) FROM apilogs", ()),
        ("SELECT name FROM apilogs", ("name",)),
        ("SELECT 1 FROM apilogs WHERE BUCKET = 'a' ORDER BY time", ("time", "bucket")),
        ('SELECT "callInfo".tx FROM apilogs', ("callInfo.tx",)),
        (
            'SELECT a."callInfo".tx, "callInfo"."requestHeader"[\'A\'] FROM apilogs a',
            ("callInfo.requestHeader", "callInfo.tx"),
        ),
        ('SELECT "callInfo" FROM apilogs WHERE "callInfo".tx > 1', ("callInfo",)),
        ('SELECT x.tx FROM (SELECT "callInfo" AS x FROM apilogs) y', ("callInfo.tx",)),
        ("SELECT t.time FROM apilogs t", ("time",)),
        ("SELECT * FROM apilogs", ALL),
        ("SELECT a.* FROM apilogs a", ALL),
        ("SELECT n FROM (SELECT * FROM apilogs) AS x (a, b, n, d, e, f, g, h, i, j, k)", ("node",)),
        ("WITH a AS (SELECT * FROM apilogs) SELECT name FROM a WHERE bucket = 'x'", ("name", "bucket")),
        ("WITH a AS (SELECT * FROM apilogs), b AS (SELECT * FROM a) SELECT max(time) FROM b", ("time",)),
        (
            "SELECT name FROM (SELECT name, bucket, count(*) AS n FROM apilogs GROUP BY name, bucket)",
            ("name", "bucket"),
        ),
        ("SELECT name FROM (SELECT DISTINCT name, bucket FROM apilogs)", ("name", "bucket")),
        ("SELECT name FROM (SELECT name, bucket FROM apilogs UNION ALL SELECT node, origin FROM apilogs)", ("name",)),
        ('SELECT count(*) FROM apilogs WHERE name IN (SELECT "apiName" FROM errorlogs)', ("name",)),
        ("SELECT x.name FROM apilogs x JOIN apilogs y USING (bucket)", ("name", "bucket")),
        ("SELECT k FROM apilogs CROSS JOIN UNNEST(tags) AS t (k, v)", ("tags",)),
        ('SELECT "$path" FROM apilogs', ()),
        ("SELECT e.node, a.node FROM errorlogs e, apilogs a", ("node",)),
        ("SELECT 1 AS x, node AS x FROM apilogs", ("node",)),
        ("SELECT node AS x, name AS x FROM apilogs UNION SELECT 'a', 'b'", ("node", "name")),
    ],
)
def test_only_columns_that_are_needed_are_read(sql: str, columns: tuple[str, ...]) -> None:
    assert translated(sql).scans[0].columns == columns


@pytest.mark.parametrize(
    ("sql", "limit"),
    [
        ("SELECT * FROM apilogs LIMIT 10", 10),
        ("SELECT bucket, a.name AS j, 1, upper(node) FROM apilogs a OFFSET 5 LIMIT 10", 15),
        ("WITH a AS (SELECT * FROM apilogs LIMIT 3) SELECT * FROM a ORDER BY time", 3),
        ("SELECT * FROM apilogs", None),
        ("SELECT * FROM apilogs WHERE bucket = 'a' LIMIT 10", None),
        ("SELECT * FROM apilogs ORDER BY bucket LIMIT 10", None),
        ("SELECT DISTINCT bucket FROM apilogs LIMIT 10", None),
        ("SELECT bucket FROM apilogs GROUP BY bucket LIMIT 10", None),
        ("SELECT count(*) FROM apilogs LIMIT 10", None),
        ("SELECT row_number() OVER () FROM apilogs LIMIT 10", None),
        ("SELECT * FROM apilogs, errorlogs LIMIT 10", None),
        ("SELECT * FROM (SELECT * FROM apilogs WHERE lower(bucket) = 'a') LIMIT 10", None),
        ("SELECT bucket FROM apilogs UNION SELECT node FROM errorlogs LIMIT 10", None),
    ],
)
def test_a_limit_reaches_the_scan_where_nothing_comes_between(sql: str, limit: int | None) -> None:
    assert translated(sql).scans[0].limit == limit


DAY = "time >= '2025-01-15T00:00:00.000000+00:00' and time < '2025-01-16T00:00:00.000000+00:00'"


@pytest.mark.parametrize(
    ("sql", "pushed"),
    [
        ("SELECT * FROM apilogs WHERE bucket = 'a'", "bucket = 'a'"),
        ("WITH x AS (SELECT * FROM apilogs) SELECT name FROM x WHERE bucket = 'a'", "bucket = 'a'"),
        ("SELECT b FROM (SELECT bucket AS b FROM apilogs) WHERE b = 'a'", "bucket = 'a'"),
        (
            "SELECT * FROM (SELECT bucket, count(*) AS n FROM apilogs GROUP BY bucket) WHERE bucket = 'a'",
            "bucket = 'a'",
        ),
        (
            "SELECT * FROM (SELECT bucket FROM apilogs UNION ALL SELECT name FROM apilogs) WHERE bucket = 'a'",
            "bucket = 'a'",
        ),
        ("SELECT * FROM apilogs a JOIN errorlogs e ON a.node = e.node AND a.bucket = 'a'", "bucket = 'a'"),
        (
            "SELECT * FROM apilogs a JOIN errorlogs e ON a.node = e.node WHERE a.bucket = 'a' AND e.node = 'n'",
            "bucket = 'a'",
        ),
        ("SELECT * FROM apilogs a LEFT JOIN errorlogs e ON a.node = e.node WHERE a.bucket = 'a'", "bucket = 'a'"),
        ("SELECT * FROM apilogs a, errorlogs e WHERE a.bucket = 'a'", "bucket = 'a'"),
        ("SELECT * FROM apilogs WHERE date(time) = DATE '2025-01-15'", DAY),
        ("SELECT * FROM apilogs WHERE CAST(time AS date) = DATE '2025-01-15'", DAY),
        ("SELECT * FROM apilogs WHERE date_trunc('day', time) = TIMESTAMP '2025-01-15 00:00:00 UTC'", DAY),
        (
            "SELECT * FROM apilogs WHERE time >= TIMESTAMP '2025-01-16 00:00:00 UTC' - INTERVAL '1' DAY "
            "AND time < TIMESTAMP '2025-01-16 01:00:00 Europe/Vienna'",
            DAY,
        ),
    ],
)
def test_conditions_reach_the_scan(sql: str, pushed: str) -> None:
    assert translated(sql).scans[0].row_filter == iceberg_expression(pushed)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM (SELECT * FROM apilogs LIMIT 5) WHERE bucket = 'a'",
        "SELECT * FROM (SELECT bucket, row_number() OVER (ORDER BY time) AS n FROM apilogs) WHERE bucket = 'a'",
        "SELECT * FROM (SELECT upper(bucket) AS bucket FROM apilogs) WHERE bucket = 'A'",
        "SELECT * FROM (SELECT bucket, count(*) FROM apilogs GROUP BY ROLLUP (bucket)) WHERE bucket = 'a'",
        "SELECT * FROM apilogs a RIGHT JOIN errorlogs e ON a.node = e.node WHERE a.bucket IS NULL",
        "SELECT * FROM apilogs a LEFT JOIN errorlogs e ON a.bucket = 'a'",
        "SELECT * FROM apilogs a FULL JOIN errorlogs e ON a.bucket = 'a' WHERE a.name = 'x'",
        "SELECT * FROM apilogs a WHERE EXISTS (SELECT 1 FROM errorlogs WHERE a.bucket = 'a')",
        "SELECT * FROM apilogs WHERE bucket = node",
        "SELECT * FROM apilogs WHERE bucket <> 'a' OR upper(node) = 'X'",
        "SELECT bucket FROM apilogs GROUP BY bucket HAVING bucket = 'a'",
    ],
)
def test_conditions_that_a_scan_must_not_apply(sql: str) -> None:
    assert translated(sql).scans[0].row_filter == AlwaysTrue()


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
    assert found.columns == ("Bucket",)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM apilogs FOR VERSION AS OF 1", r'has no snapshot 1; "apilogs\$snapshots"'),
        ("SELECT * FROM apilogs FOR VERSION AS OF 'nosuch'", "has no branch or tag 'nosuch'; there are: none"),
        ("SELECT * FROM apilogs FOR TIMESTAMP AS OF DATE '2020-01-01'", "had no snapshot at 2020-01-01T00:00:00"),
        ('SELECT * FROM "apilogs$refs" FOR VERSION AS OF 1', "has no versions"),
        ("SELECT * FROM apilogs FOR VERSION AS OF (SELECT 1)", "has to be a constant"),
    ],
)
def test_versions_that_do_not_exist(sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        translated(sql)


def test_columns_of_one_name_are_all_read() -> None:
    found = translated("SELECT a.node, e.node FROM apilogs a, errorlogs e")
    assert [scan.columns for scan in found.scans] == [("node",), ("node",)]
