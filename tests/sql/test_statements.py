from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import QueryError
from frazil.sql.statements import pieces, split
from tests.sql.seeds import STATEMENTS


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(QueryError, match="not UTF-8"):
        split("SELECT '\udcff'")


def test_the_seeds_statements_are_split_and_keep_their_text() -> None:
    found = split(STATEMENTS)
    assert len(found) == 10
    assert found[0].text == "SHOW CATALOGS"
    assert found[3].text == "SELECT * FROM kafkawarehouse.streaming.apilogs LIMIT 10"
    assert found[-1].text == 'SELECT * FROM kafkawarehouse.streaming."apilogs$history"'


def test_semicolons_in_quotes_and_comments_do_not_split() -> None:
    found = split("select ';' as \"a;b\" /* ; */ -- ; drop table x\n from t ; ; select 2;")
    assert [statement.keyword for statement in found] == ["SELECT", "SELECT"]
    assert found[1].text == "select 2"


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES (1)",
        "DELETE FROM t",
        "UPDATE t SET a = 1",
        "DROP TABLE t",
        "CREATE TABLE t AS SELECT 1",
        "ALTER TABLE t DROP COLUMN a",
        "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE t",
        "COPY t TO '/tmp/x'",
        "ATTACH '/tmp/x' AS x",
        "PRAGMA database_list",
        "SET memory_limit = '1TB'",
        "SET SESSION a.b = 1",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL system.rollback()",
        "EXECUTE IMMEDIATE 'drop table t'",
        "EXPLAIN ANALYZE INSERT INTO t SELECT 1",
        "GRANT SELECT ON t TO u",
        "USE a.b",
        "/* select */ DROP TABLE t",
        "SELECT 1; DROP TABLE t",
    ],
)
def test_what_does_not_read_is_refused_before_anything_runs(sql: str) -> None:
    with pytest.raises(QueryError, match="is refused; only statements that read"):
        split(sql)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELEC 1", "line 1, column 1: syntax error at or near 'SELEC'; did you mean SELECT?"),
        ("select 1;\n  descibe t", "line 2, column 3: syntax error at or near 'descibe'; did you mean DESCRIBE?"),
        ("help;", "line 1, column 1: syntax error at or near 'help'. A statement begins with SELECT, WITH, SHOW"),
        ("42", "line 1, column 1: syntax error at or near '42'. A statement begins"),
    ],
)
def test_a_first_word_that_begins_no_statement_is_a_syntax_error(sql: str, text: str) -> None:
    with pytest.raises(QueryError) as error:
        split(sql)
    assert str(error.value).startswith(text)


def test_pairs_of_words_begin_with_their_first_one() -> None:
    [statement] = pieces("DESCRIBE  INPUT x")
    assert (statement.keyword, statement.rest) == ("DESCRIBE", "  INPUT x")


@pytest.mark.parametrize("sql", ["", "  ", ";;", "-- nothing", "/* nothing */ ;"])
def test_no_statement_is_an_error(sql: str) -> None:
    with pytest.raises(QueryError, match="there is no SQL statement"):
        split(sql)


@pytest.mark.parametrize("sql", ["select 'abc", 'select "abc', "select 1 /* abc"])
def test_an_open_quote_or_comment_is_named(sql: str) -> None:
    with pytest.raises(QueryError, match="a quote or a comment is not closed"):
        split(sql)


def test_a_syntax_error_names_line_and_column_of_the_whole_text() -> None:
    first, second = split("select 1;\nselect * fro apilogs")
    assert first.parse() is not None
    with pytest.raises(
        QueryError, match=r"^line 2, column 14: .* at or near 'apilogs'; did you mean FROM instead of fro\?$"
    ):
        second.parse()


@pytest.mark.parametrize(
    "sql",
    [
        "with a as (delete from t returning *) select * from a",
        "with a as (insert into t values (1) returning *) select * from a",
        "select * into u from t",
        "select * from t for update",
        "select ? from t",
    ],
)
def test_writing_hidden_in_a_select_is_refused(sql: str) -> None:
    [statement] = split(sql)
    with pytest.raises(QueryError, match="is refused inside a statement that reads"):
        statement.parse()


def test_deep_nesting_is_an_error_and_not_a_crash() -> None:
    [statement] = split("select " + "(" * 5000 + "1" + ")" * 5000)
    with pytest.raises(QueryError, match="nested too deeply"):
        statement.parse()


@given(st.text(alphabet="abSELECT fromwhere'\"();,.*=-/$1\n", max_size=60))
def test_any_text_is_split_and_parsed_or_refused(sql: str) -> None:
    try:
        for statement in split(sql):
            assert statement.text in sql
            statement.parse()
    except QueryError as error:
        assert str(error)
