from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.dialects.trino import Trino

from frazil.minio.questions.bind import literal, statement
from frazil.minio.questions.calls import MACROS, RELATIONS
from frazil.minio.questions.catalog import QUESTIONS
from frazil.minio.questions.question import PARAMETERS, Question, Value
from frazil.sql.statements import split
from frazil.sql.translate import Translation, translate
from tests.sql.catalogs import log_names

SINCE = datetime(2026, 11, 27, 22, 30, 0, 5, tzinfo=UTC)
ALL: dict[str, Value] = {
    "since": SINCE,
    "until": SINCE + timedelta(days=1),
    "bucket": "photos",
    "object": "a'b; DROP TABLE apilogs --",
    "user": "ada",
    "rows": 20,
}


def question(sql: str) -> Question:
    return Question("q", "Q?", "", {}, sql)


def parsed(sql: str) -> exp.Expr:
    tree = Trino().parse(sql)[0]
    assert tree is not None
    return tree


def translated(name: str, values: dict[str, Value]) -> Translation:
    [one] = split(statement(QUESTIONS[name], values))
    return translate(one, log_names())


@given(st.text())
def test_text_stays_one_literal(text: str) -> None:
    sql = Trino().generate(exp.select(literal(text)), pretty=True)
    [found] = parsed(sql).find_all(exp.Literal)
    assert (found.is_string, found.this) == (True, text)


def test_literals_of_trino() -> None:
    assert literal("it's \\n").sql(Trino()) == "'it''s \\n'"
    assert literal(20).sql(Trino()) == "20"
    assert literal(SINCE).sql(Trino()) == "CAST('2026-11-27 22:30:00.000005 UTC' AS TIMESTAMP(6) WITH TIME ZONE)"


def test_a_condition_without_a_value_is_left_out() -> None:
    asked = question("SELECT bucket FROM apilogs WHERE time >= :since AND (bucket = :bucket OR name = 'x') LIMIT :rows")
    assert " ".join(statement(asked, {"bucket": "b"}).split()) == (
        "SELECT bucket FROM apilogs WHERE ( bucket = 'b' OR name = 'x' )"
    )
    assert " ".join(statement(asked, {}).split()) == "SELECT bucket FROM apilogs"
    assert statement(asked, {"rows": 5}).endswith("LIMIT 5")


def test_tables_get_a_schema_and_relations_do_not() -> None:
    found = parsed(statement(QUESTIONS["why-denied"], ALL, ("kafkawarehouse", "streaming")))
    named = {table.sql(Trino()) for table in found.find_all(exp.Table)}
    assert {name for name in named if "." in name} == {
        f'"kafkawarehouse"."streaming".{table}' for table in ("apilogs", "auditlogs", "errorlogs")
    }


def test_a_relation_has_only_the_columns_that_are_read() -> None:
    asked = question("SELECT api, count(*) AS n FROM api_calls GROUP BY api")
    text = statement(asked, {})
    assert "regexp_replace" in text.lower()
    assert "requestHeader" not in text
    assert "httpStatusCode" not in text


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_parameter_and_no_macro_is_left(name: str) -> None:
    for values in (ALL, {}, {"since": SINCE}):
        found = parsed(statement(QUESTIONS[name], values))
        assert list(found.find_all(exp.Placeholder, exp.Parameter)) == []
        assert {call.name.upper() for call in found.find_all(exp.Anonymous)}.isdisjoint(MACROS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_a_question_takes_is_in_its_statement(name: str) -> None:
    taken = QUESTIONS[name].parameters
    assert {"since", "until", "rows"} <= {parameter.name for parameter in taken} <= set(PARAMETERS)
    without = statement(QUESTIONS[name], {})
    for parameter in taken:
        assert statement(QUESTIONS[name], {parameter.name: ALL[parameter.name]}) != without
    assert set(QUESTIONS[name].relations) <= set(RELATIONS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_time_reaches_every_scan(name: str) -> None:
    for scan in translated(name, ALL).scans:
        text = str(scan.row_filter)
        assert "GreaterThanOrEqual" in text, scan.source.table.name()
        assert "LessThan(" in text


def test_the_bucket_reaches_the_scans_and_sign_ins_belong_to_none() -> None:
    filters = [str(scan.row_filter) for scan in translated("why-denied", ALL).scans]
    assert any("EqualTo(term=Reference(name='bucket'), literal=literal('photos'))" in text for text in filters)
    assert any("IsNull(term=Reference(name='bucket'))" in text for text in filters)


def test_sign_ins_are_looked_for_up_to_seven_days_earlier() -> None:
    filters = [str(scan.row_filter) for scan in translated("sessions", {"since": SINCE}).scans]
    assert any("2026-11-20T22:30:00.000005" in text for text in filters)
    assert any("2026-11-27T22:30:00.000005" in text for text in filters)


def test_a_count_of_calls_reads_no_headers() -> None:
    for scan in translated("traffic", ALL).scans:
        assert not any("requestHeader" in column or column == "callInfo" for column in scan.columns)
