from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.expressions import BooleanExpression, EqualTo, GreaterThanOrEqual, Or

from frazil.errors import QueryError
from frazil.minio.questions.catalog import VIEWS
from frazil.minio.questions.views import QUESTION_VIEWS
from frazil.minio.records.tables import API_SCHEMA
from frazil.sql.names import Names
from frazil.sql.statements import split
from frazil.sql.translate import Translation, translate
from tests.sql.catalogs import LOG_TABLES, MetadataCatalog, log_names

Predicate = Callable[..., BooleanExpression]
at_or_after: Predicate = GreaterThanOrEqual
equal: Predicate = EqualTo


def translated(sql: str, names: Names | None = None) -> Translation:
    [statement] = split(sql)
    return translate(statement, names or log_names())


def filters(sql: str) -> list[str]:
    scans = translated(sql).scans
    assert scans
    return [str(scan.row_filter) for scan in scans]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("prefix", ["", "streaming.", "KafkaWarehouse.Streaming."])
def test_a_view_reads_log_tables(view: str, prefix: str) -> None:
    found = translated(f"SELECT * FROM {prefix}{view.upper()}")  # noqa: S608
    assert {scan.source.table.name()[-1] for scan in found.scans} <= set(LOG_TABLES)
    assert "LIMIT" not in found.sql


def test_conditions_on_time_and_bucket_reach_the_tables() -> None:
    for text in filters(
        "SELECT who FROM who_deleted AS d WHERE d.time >= TIMESTAMP '2026-11-01 00:00:00 UTC' "
        "AND time < TIMESTAMP '2026-11-02 00:00:00 UTC' AND bucket = 'photos' AND who = 'ada'"
    ):
        assert "2026-10-31T23:59:59" in text
        assert "2026-11-02T00:00:01" in text
        assert "photos" in text


@pytest.mark.parametrize(
    "condition",
    [
        "NOT time >= TIMESTAMP '2026-11-01 00:00:00 UTC'",
        "bucket <> 'photos'",
    ],
)
def test_conditions_that_do_not_hold_for_every_row_stay_outside(condition: str) -> None:
    for text in filters(f"SELECT who FROM who_read WHERE {condition}"):  # noqa: S608
        assert "photos" not in text
        assert "2026-11-01" not in text


def test_an_alternative_reaches_the_tables_as_one() -> None:
    alternative = Or(at_or_after("time", "2026-11-01T00:00:00.000000+00:00"), equal("bucket", "photos"))
    for text in filters(
        "SELECT who FROM who_read WHERE time >= TIMESTAMP '2026-11-01 00:00:00 UTC' OR bucket = 'photos'"
    ):
        assert str(alternative) in text
        assert text.count("2026-11-01") == text.count("photos") == 1


def test_two_views_in_one_statement_do_not_share_conditions() -> None:
    read, deleted = "who_read AS r", "who_deleted AS d"
    condition = "r.object = d.object WHERE r.time >= TIMESTAMP '2026-11-01 00:00:00 UTC'"
    joined = filters(f"SELECT r.who FROM {read} JOIN {deleted} ON {condition}")  # noqa: S608
    own = len(filters("SELECT who FROM who_read"))
    assert len(joined) > own
    assert all("2026-11-01" not in text for text in joined[own:])


def test_a_view_among_with_queries_and_in_a_subquery() -> None:
    found = translated(
        "WITH api_calls AS (SELECT 1 AS one), mine AS (SELECT who FROM who_read) "
        "SELECT * FROM mine, api_calls WHERE who IN (SELECT who FROM who_deleted)"
    )
    assert len(found.scans) == 4


def test_a_table_or_with_query_of_that_name_comes_first() -> None:
    catalog = MetadataCatalog({**LOG_TABLES, "who_read": API_SCHEMA})
    names = Names(catalog, "kafkawarehouse", "streaming", QUESTION_VIEWS)
    [scan] = translated("SELECT * FROM who_read", names).scans
    assert scan.source.table.name() == ("streaming", "who_read")
    assert translated("WITH who_read AS (SELECT 1 AS one) SELECT * FROM who_read").scans == ()


def test_a_with_query_may_have_the_name_of_the_view_that_it_reads() -> None:
    found = translated("WITH who_read AS (SELECT who FROM who_read) SELECT who FROM who_read")
    assert len(found.scans) == 2


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (
            "time BETWEEN TIMESTAMP '2026-11-01 00:00:00 UTC' AND TIMESTAMP '2026-11-02 00:00:00 UTC'",
            "2026-11-02T00:00:01",
        ),
        ("(TIMESTAMP '2026-11-01 00:00:00' <= time)", "2026-10-31T23:59:59"),
        ("time > TIMESTAMP '2026-11-01 02:00:00.5 +02:00'", "2026-10-31T23:59:59.500000"),
        ("time >= DATE '2026-11-01'", "2026-10-31T23:59:59"),
        ("'photos' = bucket", "photos"),
    ],
)
def test_ways_to_write_a_condition(condition: str, expected: str) -> None:
    assert all(expected in text for text in filters(f"SELECT who FROM who_read WHERE {condition}"))  # noqa: S608


def test_a_view_belongs_to_the_namespace_of_the_log_tables() -> None:
    with pytest.raises(QueryError):
        translated("SELECT * FROM other.who_read")


def test_only_columns_of_the_view_are_read() -> None:
    for scan in translated("SELECT * FROM who_read").scans:
        assert "callInfo" not in scan.columns
        assert "callInfo.requestHeader" not in scan.columns
