from __future__ import annotations

import pytest

from frazil.errors import QueryError
from tests.sql.catalogs import computed, translated

PAIRS = "(VALUES (1, 'a')) AS t (x, y)"


@pytest.mark.parametrize(
    "column",
    ["bucket", "apilogs.bucket", "STREAMING.ApiLogs.Bucket", "kafkawarehouse.streaming.apilogs.bucket"],
)
def test_the_qualifier_may_be_cut_short_from_the_left(column: str) -> None:
    assert translated(f"SELECT {column} FROM apilogs").scans[0].columns == ("bucket",)  # noqa: S608


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT x FROM (VALUES 1) AS a (x), (VALUES 2) AS b (X)", "column x is ambiguous"),
        ("SELECT nosuch.bucket FROM apilogs", "column nosuch.bucket cannot be resolved"),
        ("SELECT bukket FROM apilogs", "column bukket cannot be resolved; did you mean bucket"),
        ("SELECT t.z FROM (VALUES 1) AS t (x)", "(?i)unknown column: z"),
        ("SELECT nosuch.* FROM apilogs", "(?i)unknown table: nosuch"),
        ("SELECT x FROM (VALUES (1, 2)) AS t (x)", "t has 1 column aliases for 2 columns"),
        ("SELECT x FROM (SELECT 1, 2) AS t (x)", "t has 1 column aliases for 2 columns"),
        ("WITH t (x, y) AS (SELECT 1) SELECT x FROM t", "t has 2 column aliases for 1 columns"),
        ("SELECT x FROM apilogs AS t (x, y)", "t has 2 column aliases for 11 columns"),
        ("SELECT k FROM UNNEST(ARRAY[1]) AS t (k, v)", "t has 2 column aliases for 1 columns"),
        ("SELECT * FROM (SELECT 1 AS x, 2 AS x)", "two columns of one name"),
        ("SELECT x FROM (SELECT 1 AS x, 2 AS x)", "column x is ambiguous"),
        ("SELECT 1 AS x, 2 AS x UNION SELECT 3, 4 ORDER BY x", "column x is ambiguous"),
        ("SELECT x AS y, x + 1 AS y FROM (VALUES 1) AS t (x) ORDER BY y", "column y is ambiguous"),
    ],
)
def test_names_that_mean_nothing_or_too_much(sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        translated(sql)


def test_the_inner_query_comes_first() -> None:
    inner = "(SELECT x FROM (VALUES 5) AS u (x)), (SELECT t.x FROM (VALUES 5) AS u (z))"
    assert computed(f"SELECT {inner} FROM {PAIRS}") == [(5, 1)]  # noqa: S608


def test_a_column_comes_before_an_alias_but_not_in_order_by() -> None:
    rows = "(VALUES 'b', 'a') AS t (x)"
    assert computed(f"SELECT upper(x) AS x FROM {rows} WHERE x = 'a'") == [("A",)]  # noqa: S608
    swapped = f"SELECT CASE x WHEN 'a' THEN 'z' ELSE 'c' END AS x FROM {rows} ORDER BY x"  # noqa: S608
    assert computed(swapped) == [("c",), ("z",)]
    assert computed(f"SELECT x AS y FROM {rows} ORDER BY upper(y) DESC") == [("b",), ("a",)]  # noqa: S608


def test_a_constant_in_group_by_and_order_by_is_a_position() -> None:
    rows = "(VALUES 3, 1, 3) AS t (x)"
    assert computed(f"SELECT x, count(*) FROM {rows} GROUP BY 1 ORDER BY 2, 1") == [(1, 1), (3, 2)]  # noqa: S608
    assert computed(f"SELECT 7 AS c, count(*) FROM {rows} GROUP BY 1") == [(7, 3)]  # noqa: S608
    assert computed(f"SELECT x, -x FROM {rows} ORDER BY (2), x LIMIT 1") == [(1, -1)]  # noqa: S608


def test_a_join_using_gives_its_columns_first_and_once() -> None:
    joined = "(VALUES (1, 'k')) AS a (x, k) JOIN (VALUES ('k', 2)) AS b (k, y) USING (k)"
    assert translated(f"SELECT * FROM {joined}").columns == ("k", "x", "y")  # noqa: S608
    assert computed(f"SELECT *, k FROM {joined}") == [("k", 1, 2, "k")]  # noqa: S608


def test_columns_without_a_name_are_numbered() -> None:
    assert translated(f"SELECT *, 1 + 1, Y FROM {PAIRS}").columns == ("x", "y", "_col2", "Y")  # noqa: S608
    assert translated("SELECT * FROM (SELECT 1, 2)").columns == ("_col0", "_col1")
    assert translated("SELECT * FROM apilogs").columns[5:9] == ("name", "bucket", "object", "versionId")


def test_a_named_window_is_no_alias() -> None:
    assert translated("SELECT count(*) OVER w FROM apilogs WINDOW w AS (ORDER BY time)").columns == ("_col0",)
