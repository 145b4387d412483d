"""Every statement of the seeds as it stands, on the real Trino, over tables that the log schemas made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from frazil.clients.catalog import connect
from frazil.environment.settings import Settings
from frazil.sql.engine import Engine
from frazil.sql.trino import TrinoEngine
from tests.sql.conftest import COMMITS, NAMESPACE, ROWS_PER_COMMIT, LogTables
from tests.sql.seeds import STATEMENTS

pytestmark = pytest.mark.trino

TOTAL = COMMITS * ROWS_PER_COMMIT


def statements() -> str:
    """The seeds' statements in the namespace of these tests, which other tests' tables do not share."""
    return STATEMENTS.replace("streaming", NAMESPACE)


@pytest.fixture(scope="module")
def answers(trino: Settings, log_tables: LogTables) -> Iterator[list[list[tuple[Any, ...]]]]:
    yield [list(result.rows) for result in TrinoEngine(trino).run(statements())]


def test_the_seeds_statements_are_answered_as_they_stand(
    answers: list[list[tuple[Any, ...]]], log_tables: LogTables
) -> None:
    catalogs, schemas, tables, ten_calls, newest_calls, calls, errors, audits, snapshots, history = answers
    assert ("kafkawarehouse",) in catalogs
    assert (NAMESPACE,) in schemas
    assert {("apilogs",), ("errorlogs",), ("auditlogs",)} <= set(tables)
    assert len(ten_calls) == 10
    rows = [row for row in log_tables.rows["apilogs"] if row["bucket"] is not None]
    expected = sorted((row["time"] for row in rows), reverse=True)[:20]
    assert [row[2] for row in newest_calls] == expected
    assert sum(count for _, count in calls) == TOTAL
    assert len(errors) == 10
    assert {row[0] for row in audits} == {"bucket"}
    assert (len(snapshots), len(history)) == (COMMITS, COMMITS)


def test_both_engines_give_the_same_answers(answers: list[list[tuple[Any, ...]]], trino: Settings) -> None:
    """Those whose answer the statement itself determines: counts, and the newest rows by their times."""
    embedded = Engine(connect(trino.catalog_properties()), trino.warehouse, NAMESPACE)
    own = [list(result.rows) for result in embedded.run(statements())]
    assert [sorted(own[i]) for i in (2, 5)] == [sorted(answers[i]) for i in (2, 5)]
    assert [row[2] for row in own[4]] == [row[2] for row in answers[4]]
    assert [sorted(row[1] for row in own[8])] == [sorted(row[1] for row in answers[8])]
