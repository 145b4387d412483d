from __future__ import annotations

import duckdb
import pytest

from tests.query.test_translate import translated


def test_cardinality_of_a_map_and_of_an_array() -> None:
    found = translated("SELECT cardinality(tags), cardinality(ARRAY[1]) FROM apilogs")
    assert found.sql == 'SELECT CARDINALITY(tags), ARRAY_LENGTH([1]) FROM "frazil scan 0" AS "apilogs"'


@pytest.mark.parametrize("column", ["requestClaims", 'r."requestClaims"'])
def test_unnesting_a_map_gives_two_columns(column: str) -> None:
    found = translated(f"SELECT k, v FROM auditlogs AS r CROSS JOIN UNNEST({column}) AS t (k, v)")  # noqa: S608
    assert f'CROSS JOIN LATERAL (SELECT UNNEST(MAP_KEYS({column})) AS "k", UNNEST(MAP_VALUES' in found.sql
    assert found.sql.endswith(f'({column})) AS "v") AS t')


def test_unnesting_a_map_inside_a_row() -> None:
    found = translated('SELECT k FROM apilogs, UNNEST("callInfo"."requestHeader") AS t (k, v)')
    assert 'MAP_KEYS("callInfo"."requestHeader")' in found.sql
    assert found.scans[0].columns == ("callInfo.requestHeader",)


def test_the_space_before_an_offset_goes() -> None:
    found = translated("SELECT TIMESTAMP '2025-01-01 00:00:00 +02:00', TIMESTAMP '2025-01-01 00:00:00 UTC'")
    assert "'2025-01-01 00:00:00+02:00'" in found.sql
    assert "'2025-01-01 00:00:00 UTC'" in found.sql


def test_a_difference_counts_whole_units() -> None:
    sql = "SELECT date_diff('minute', TIMESTAMP '2025-01-01 00:00:30', TIMESTAMP '2025-01-01 00:02:00')"
    assert duckdb.execute(translated(sql).sql).fetchall() == [(1,)]
    backwards = "SELECT date_diff('day', DATE '2025-01-03', DATE '2025-01-01')"
    assert duckdb.execute(translated(backwards).sql).fetchall() == [(-2,)]
