from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.sql.trino_statements import reading


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "(SELECT 1)",
        "WITH FUNCTION f(x bigint) RETURNS bigint RETURN x SELECT f(1)",
        "SHOW CREATE TABLE t",
        "SHOW SESSION",
        "DESCRIBE INPUT x",
        "DESCRIBE OUTPUT x",
        "EXPLAIN SELECT 1",
        "EXPLAIN (TYPE LOGICAL, FORMAT JSON) SELECT 1",
        "EXPLAIN INSERT INTO t SELECT 1",
        "EXPLAIN ANALYZE VERBOSE SELECT 1",
        "explain /* a comment */ analyze (select 1)",
        "USE a.b",
        "SET SESSION query_max_run_time = '1m'",
        "SET TIME ZONE 'UTC'",
        "RESET SESSION query_max_run_time",
        "PREPARE x FROM SELECT ? FROM t",
        "EXECUTE x USING 1",
        "EXECUTE IMMEDIATE 'SELECT 1' USING 1",
        "DEALLOCATE PREPARE x",
    ],
)
def test_what_changes_nothing_is_sent_as_it_is_written(sql: str) -> None:
    assert [statement.text for statement in reading(f"{sql}; SELECT 2;")] == [sql, "SELECT 2"]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t SELECT 1",
        "DROP TABLE t",
        "CALL system.rollback()",
        "ALTER TABLE t EXECUTE optimize",
        "GRANT SELECT ON t TO u",
        "SET ROLE admin",
        "ANALYZE t",
        "EXPLAIN ANALYZE INSERT INTO t SELECT 1",
        "EXPLAIN ANALYZE VERBOSE DELETE FROM t",
        "explain analyze/* select */ delete from t",
        "EXPLAIN ANALYZE EXECUTE IMMEDIATE 'drop table t'",
        "EXPLAIN ANALYZE",
        "PREPARE x FROM DELETE FROM t",
        "PREPARE x FROM EXPLAIN ANALYZE DELETE FROM t",
        "PREPARE x",
        "EXECUTE IMMEDIATE 'DROP TABLE t'",
        "EXECUTE IMMEDIATE '/* SELECT */ DROP TABLE t' USING 1",
        "EXECUTE IMMEDIATE",
    ],
)
def test_what_writes_is_refused_before_anything_runs(sql: str) -> None:
    with pytest.raises(QueryError, match=r"is refused; only statements that change nothing .*\. Nothing was run"):
        reading(f"SELECT 1; {sql}")


def test_a_slip_of_the_pen_is_no_refusal() -> None:
    with pytest.raises(QueryError, match=r"^line 1, column 1: syntax error at or near 'SELEC'; did you mean SELECT\?$"):
        reading("SELEC 1")
