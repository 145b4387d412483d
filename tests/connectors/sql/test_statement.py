"""Statements: what is taken, what Spark gets of it, and what is refused with its place."""

from __future__ import annotations

import pytest

from frazil.connectors.sql.parts import StatementError
from frazil.connectors.sql.statement import parse_statement

PLACED = "`_frazil` AS `_frazil`"


@pytest.mark.parametrize(
    ("sql", "spark"),
    [
        ("SELECT * FROM t", "SELECT * EXCEPT (`_frazil`), t.@ FROM `frazil_topic_0` AS t"),
        (
            "SELECT x.*, _offset AS o FROM t x WHERE a > 0 -- ends here",
            "SELECT x.* EXCEPT (`_frazil`, `_offset`), _offset AS o, x.@ FROM `frazil_topic_0` AS x WHERE a > 0",
        ),
        (
            "SELECT t.a, d.b FROM t LEFT JOIN ns.dim d USING (k)",
            "SELECT t.a, d.b, t.@ FROM `frazil_topic_0` AS t LEFT JOIN `frazil_table_0` AS d USING (k)",
        ),
        (
            "SELECT a FROM ns.dim JOIN t ON dim.k = t.k",
            "SELECT a, t.@ FROM `frazil_table_0` AS dim JOIN `frazil_topic_0` AS t ON dim.k = t.k",
        ),
        (
            "CREATE TEMPORARY VIEW v AS SELECT a, explode(xs) AS x FROM t; SELECT v.* FROM v WHERE x.n = 1;",
            "WITH v AS (SELECT a, explode(xs) AS x, t.@ FROM `frazil_topic_0` AS t) "
            "SELECT v.* EXCEPT (`_frazil`), v.@ FROM v WHERE x.n = 1",
        ),
        (
            "SELECT a FROM (SELECT * FROM t) AS s UNION ALL SELECT b FROM t",
            "SELECT a, s.@ FROM (SELECT * EXCEPT (`_frazil`), t.@ FROM `frazil_topic_0` AS t) AS s "
            "UNION ALL SELECT b, t.@ FROM `frazil_topic_0` AS t",
        ),
        (
            "SELECT d.* FROM t LEFT SEMI JOIN ns.a ON t.k = a.k JOIN ns.b d ON d.k = t.k",
            "SELECT d.*, t.@ FROM `frazil_topic_0` AS t LEFT SEMI JOIN `frazil_table_0` AS a ON t.k = a.k "
            "JOIN `frazil_table_1` AS d ON d.k = t.k",
        ),
        (
            r"SELECT TRY_CAST(a AS INT), a / b, IF(a, 1, 2), split(a, ','), regexp_extract(a, r'^(\d+)', 1) FROM t",
            "SELECT TRY_CAST(a AS INT), a / b, IF(a, 1, 2), split(a, ','), regexp_extract(a, '^(\\\\d+)', 1), "
            "t.@ FROM `frazil_topic_0` AS t",
        ),
        (
            "SELECT at - INTERVAL 1 DAY 2 HOURS, array(a, b)[1], array[0], 'a' 'b' FROM t",
            "SELECT at - (INTERVAL '1' DAY + INTERVAL '2' HOURS), array(a, b)[1], array[0], CONCAT('a', 'b'), "
            "t.@ FROM `frazil_topic_0` AS t",
        ),
        (
            "SELECT a LIKE '%x', split(a, ','), regexp_like(concat(a, b), 'x.*y') FROM t",
            "SELECT a LIKE '%x', split(a, ','), regexp_like(transform(array(concat(a, b)), frazil_value -> CASE WHEN "
            "length(frazil_value) > 30000 THEN raise_error('a text of more than 30,000 characters, which regexp_like "
            "could take hours for') ELSE frazil_value END)[0], 'x.*y'), t.@ FROM `frazil_topic_0` AS t",
        ),
        (
            "SELECT a NOT LIKE '%/%%x%y' ESCAPE '/' FROM t",
            "SELECT CASE WHEN length(a) > 2000 THEN raise_error('a text of more than 2,000 characters, which LIKE "
            "could take hours for') ELSE a END NOT LIKE '%/%%x%y' ESCAPE '/', t.@ FROM `frazil_topic_0` AS t",
        ),
    ],
)
def test_each_select_over_a_topic_tells_the_record_of_its_rows(sql: str, spark: str) -> None:
    assert parse_statement(sql, ["t"]).text == spark.replace("@", PLACED)


def test_a_statement_tells_its_tables_and_the_metadata_that_it_names() -> None:
    found = parse_statement(
        "SELECT _topic, _key FROM `a.b-c` JOIN n.x JOIN m.y JOIN n.x z UNION ALL SELECT '', a FROM t", ["t", "a.b-c"]
    )
    assert (found.topics, found.tables, found.metadata) == (("t", "a.b-c"), ("n.x", "m.y"), ("_topic", "_key"))
    assert found.reads == ("a.b-c", "t")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("", "there is no statement"),
        ("SELECT a FROM t WHERE (", "line 1, column 23: something is missing near '('"),
        ("SELEC a FROM t", "near 'FROM'; did you mean SELECT instead of SELEC?"),
        ("SELECT a FORM t", "near 't'; did you mean FROM instead of FORM?"),
        ("CREATE TEMPORARY VIEW v AS SELECT a FROM t;\nSELEC a FROM v", "did you mean SELECT instead of SELEC?"),
        ("SELECT a FROM t WHER a > 0; SELECT b FROM t", "near 'a'; did you mean WHERE instead of WHER?"),
        ("SELECT a,\n'b\n\n", "line 2, column 1: Missing '"),
        ("SELECT a FROM t JOIN", "line 1, column 17: Expected table name near 'JOIN'"),
        ("SELECT a /* FROM t", "a comment has no end"),
        ("SELECT 'x\n', `a\n`, abc(d) FROM t", "line 3, column 4: there is no function abc"),
        ("SELECT a,\n  reflect('java.lang.Runtime', 'exec') FROM t", "line 2, column 3: there is no function reflect"),
        ("SELECT java_method('a', 'b') FROM t", "no function java_method"),
        ("SELECT `reflect`('a', 'b') FROM t", "no function"),
        ("SELECT system.builtin.reflect('a', 'b') FROM t", "no function reflect"),
        ("SELECT input_file_name() FROM t", "gives something else each time"),
        ("SELECT transform(a) USING 'sh' FROM t", "TRANSFORM"),
        ("SELECT a FROM parquet.`/etc/passwd`", "it reads none of the topics t"),
        ("SELECT a FROM read_files('/etc/passwd'), t", "no function read_files"),
        ("SELECT IDENTIFIER('a') FROM t", "no function identifier"),
        ("SET spark.x = 1; SELECT a FROM t", "SET spark.x = 1 is not allowed"),
        ("INSERT INTO x SELECT a FROM t", "the last statement is no SELECT"),
        ("ADD JAR 'x'", "the last statement is no SELECT"),
        ("CREATE VIEW v AS SELECT a FROM t; SELECT a FROM v", "this CREATE is not allowed"),
        (
            "CREATE TEMPORARY VIEW v USING csv OPTIONS (path '/etc/passwd'); SELECT a FROM t",
            "this CREATE is not allowed",
        ),
        ("CREATE TEMPORARY VIEW v (b) AS SELECT a FROM t; SELECT b FROM v", "a view has a plain name"),
        ("CREATE TEMPORARY VIEW t AS SELECT 1; SELECT a FROM t", "t is the name of a topic"),
        ("CREATE TEMPORARY FUNCTION f AS 'x'; SELECT a FROM t", "not allowed"),
        ("SELECT /*+ BROADCAST(t) */ a FROM t", "with hint is not allowed"),
        ("SELECT a FROM t TABLESAMPLE (1 ROWS)", "with sample is not allowed"),
        ("SELECT a FROM ns.x VERSION AS OF 3 JOIN t", "not allowed"),
        ("SELECT v:a FROM t", "v:a is not allowed"),
        ("SELECT :p FROM t", "not allowed"),
        ("SELECT count(*) FROM t", "count is over several records"),
        ("SELECT a FROM t GROUP BY a", "line 1, column 26: GROUP BY needs several records"),
        ("SELECT DISTINCT a FROM t", "DISTINCT needs several records"),
        ("SELECT a FROM t ORDER BY a LIMIT 3", "needs several records"),
        ("SELECT lag(a) OVER (ORDER BY b) FROM t", "needs several records"),
        ("SELECT a FROM t UNION SELECT a FROM t", "write UNION ALL"),
        ("SELECT a FROM t UNION ALL SELECT a FROM ns.x", "would store the others with every batch"),
        ("SELECT now() FROM t", "_timestamp is the time of the record"),
        ("SELECT current_timestamp FROM t", "says something of Spark or its clock"),
        ("SELECT a FROM tt", "line 1, column 15: there is no topic or view tt; there are t"),
        ("SELECT 1", "it reads none of the topics t"),
        ("SELECT a FROM t x JOIN t y ON x.a = y.a", "two topics are joined"),
        ("SELECT a FROM ns.x RIGHT JOIN t ON x.a = t.a", "rows that are from no record"),
        ("SELECT a FROM ns.x LEFT JOIN t ON x.a = t.a", "rows that are from no record"),
        ("SELECT a FROM t FULL JOIN ns.x ON x.a = t.a", "rows that are from no record"),
        ("SELECT a FROM t NATURAL JOIN ns.x", "NATURAL JOIN"),
        ("SELECT a FROM ns.x WHERE a IN (SELECT a FROM t)", "a subquery in an expression cannot read a topic"),
        ("SELECT a FROM (SELECT a FROM t)", "needs a name"),
        ("WITH RECURSIVE r AS (SELECT a FROM t) SELECT a FROM r", "WITH RECURSIVE"),
        ("SELECT _frazil FROM t", "names that begin with _frazil"),
        ("SELECT 'it''s' FROM t", "Adjacent string literals"),
        ("SELECT regexp_replace(a, '(a+)\\\\1', '') FROM t", "could keep it busy for hours"),
        ("SELECT a RLIKE b FROM t", "is a text that stands in the statement"),
        ("SELECT a NOT LIKE b FROM t", "is a text that stands in the statement"),
        ("SELECT ilike(a, b) FROM t", "is a text that stands in the statement"),
        ("SELECT a LIKE '%a%b%c%d%e' FROM t", "Write it with fewer %"),
        ("SELECT split(a, '(x+)+y') FROM t", "can be divided in several ways"),
        ("SELECT transform(xs, x -> regexp_replace(x, '.*.*.*y', '')) FROM t", "too many repetitions"),
        ("SELECT lpad(a, n, ' ') FROM t", "is a number of at most 10,000"),
        ("SELECT window(at, '1 day', '1 second') FROM t", "windows that slide"),
        ("FROM t |> SELECT a |> LIMIT 1", "needs several records"),
        ("SELECT " + "(" * 2000 + "1" + ")" * 2000 + " FROM t", "nested too deeply"),
    ],
)
def test_what_a_statement_cannot_have_is_refused(sql: str, said: str) -> None:
    with pytest.raises(StatementError) as raised:
        parse_statement(sql, ["t"])
    assert said in str(raised.value)


def test_each_topic_is_read() -> None:
    with pytest.raises(StatementError, match="it does not read u, which topics names"):
        parse_statement("SELECT a FROM t", ["t", "u"])


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT a.Id AS n, s.x FROM t a WHERE y > 0", {"id", "x", "y"}),
        ("CREATE TEMPORARY VIEW v AS SELECT id FROM t; SELECT v.id FROM v JOIN db.names USING (id)", {"id"}),
        ("SELECT transform(items, i -> i.n) AS ns, `odd name` FROM t", {"items", "n", "odd name"}),
        ("SELECT t.* FROM t", None),
        ("CREATE TEMPORARY VIEW v AS SELECT * FROM t; SELECT id FROM v", None),
        ("SELECT s.* FROM t", None),
    ],
)
def test_columns_that_a_statement_may_name_are_told(sql: str, names: set[str] | None) -> None:
    found = parse_statement(sql, ["t"]).names
    assert (found is None) == (names is None)
    assert (names or set()) <= (found or set())
    assert "other" not in (found or set())


def test_functions_beside_those_of_spark_are_called_by_their_names() -> None:
    assert "with_tax(" in parse_statement("SELECT With_Tax(a) AS b FROM t", ["t"], None, {"with_tax"}).text.lower()
    with pytest.raises(StatementError, match="there is no function with_tax"):
        parse_statement("SELECT with_tax(a) AS b FROM t", ["t"])
