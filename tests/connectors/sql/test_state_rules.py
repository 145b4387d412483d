"""Statements with state: what Spark gets of them, and what is refused since its state would never end."""

from __future__ import annotations

import pytest

from frazil.connectors.sql.parts import NeedsState, StatementError
from frazil.connectors.sql.state_rules import StateRules
from frazil.connectors.sql.statement import parse_statement

TIMES = StateRules({"t": "at", "u": "at"})
UPSERTS = StateRules(upserts=True, id_columns=("page",))
MINUTES = "GROUP BY window(at, '1 minute'), page"


@pytest.mark.parametrize(
    ("sql", "spark"),
    [
        (
            "SELECT window.start AS m, page, count(*) FILTER (WHERE a > 1) AS n FROM t @ HAVING max(a) > 1",
            "SELECT window.start AS m, page, count(*) FILTER(WHERE a > 1) AS n FROM `frazil_topic_0` AS t @ "
            "HAVING max(a) > 1",
        ),
        (
            "SELECT session_window.end, page FROM t GROUP BY session_window(at, '5 minutes'), page",
            "SELECT session_window.end, page FROM `frazil_topic_0` AS t GROUP BY session_window(at, '5 minutes'), page",
        ),
        (
            "CREATE TEMPORARY VIEW v AS SELECT *, _offset FROM t; SELECT DISTINCT at, _offset FROM v",
            "WITH v AS (SELECT * EXCEPT (`_offset`), _offset FROM `frazil_topic_0` AS t) "
            "SELECT DISTINCT at, _offset FROM v",
        ),
    ],
)
def test_rows_of_several_records_have_no_place(sql: str, spark: str) -> None:
    found = parse_statement(sql.replace("@", MINUTES), ["t"], TIMES)
    assert (found.text, found.state, found.updates) == (spark.replace("@", MINUTES), True, False)


def test_topics_are_joined_where_their_times_are_bound() -> None:
    sql = "SELECT t.id, u.page FROM t LEFT JOIN u ON t.id = u.id AND u.at BETWEEN t.at AND t.at + INTERVAL 1 HOUR"
    found = parse_statement(sql, ["t", "u"], TIMES)
    assert found.state
    assert found.reads == ("t", "u")
    parse_statement("SELECT t.id FROM t JOIN u ON u.at >= t.at AND u.at < t.at + INTERVAL 1 DAY", ["t", "u"], TIMES)


def test_a_statement_that_needs_none_keeps_none_unless_its_records_are_told_apart() -> None:
    assert not parse_statement("SELECT * FROM t", ["t"], TIMES).state
    found = parse_statement("SELECT * FROM t", ["t"], StateRules({"t": "at"}, dedup=True))
    assert (found.text, found.state) == ("SELECT * FROM `frazil_topic_0` AS t", True)


def test_groups_replace_their_rows_where_these_are_upserts() -> None:
    found = parse_statement("SELECT page, count(*) AS n FROM t GROUP BY page", ["t"], UPSERTS)
    assert (found.state, found.updates) == (True, True)
    minutes = StateRules(upserts=True, id_columns=("minute", "page"))
    sql = "SELECT window.start AS minute, page, count(*) FROM t GROUP BY window(at, '1 minute'), page"
    assert parse_statement(sql, ["t"], minutes).updates


@pytest.mark.parametrize(
    ("sql", "rules", "reason"),
    [
        (
            "SELECT page, count(*) FROM t GROUP BY page",
            StateRules(),
            r"line 1, column \d+: it keeps state of t, and .*",
        ),
        ("SELECT * FROM t", StateRules(dedup=True), r"set frazil.watermark"),
        ("SELECT page AS p, count(*) FROM t GROUP BY page", UPSERTS, r"upserts by page, and the columns .* are p;"),
        ("SELECT count(DISTINCT a) FROM t", TIMES, r"column 8: count\(DISTINCT …\) would keep every value"),
        ("SELECT collect_list(a) FROM t", TIMES, r"collect_list would keep every value"),
        ("SELECT first(a) FROM t", TIMES, r"depends on their order"),
        ("SELECT max(a) FROM t GROUP BY window(at, '1 hour', '1 second')", TIMES, r"in more than 100 windows"),
        ("SELECT max(a) FROM t GROUP BY window(at, a)", TIMES, r"window has a time, a duration"),
        ("SELECT max(a) FROM t GROUP BY session_window(at, b)", TIMES, r"session_window has a time and a gap"),
        ("SELECT max(a) FROM t GROUP BY page ORDER BY page", TIMES, r"ORDER BY needs several"),
        ("SELECT max(a) FROM t GROUP BY page LIMIT 1", TIMES, r"LIMIT needs several"),
        ("SELECT row_number() OVER (ORDER BY at) FROM t", TIMES, r"needs several|OVER"),
        ("SELECT max(a) FROM t GROUP BY ROLLUP(page)", TIMES, r"ROLLUP \(page\) is not allowed"),
        ("SELECT max(t.a) FROM t JOIN ns.d ON d.k = t.k", TIMES, r"joins no tables, and ns.d is one"),
        (
            "SELECT max(t.a) FROM t JOIN (SELECT 1 AS one) AS x ON x.one = t.k",
            TIMES,
            r"joins topics, and views of them",
        ),
    ],
)
def test_what_state_cannot_hold_is_refused_with_its_place(sql: str, rules: StateRules, reason: str) -> None:
    with pytest.raises(StatementError, match=reason):
        parse_statement(sql, ["t"], rules)


@pytest.mark.parametrize("on", ["t.id = u.id", "t.id = u.id AND u.at >= t.at"])
def test_a_join_that_would_keep_records_for_ever_is_refused(on: str) -> None:
    with pytest.raises(StatementError, match=r"column 25: the join of t and u would keep their records for ever"):
        parse_statement("SELECT t.id FROM t JOIN u ON @".replace("@", on), ["t", "u"], TIMES)


def test_without_rules_for_state_each_part_that_needs_it_is_refused() -> None:
    with pytest.raises(NeedsState, match=r"GROUP BY needs several records at a time"):
        parse_statement("SELECT page FROM t GROUP BY page", ["t"])
