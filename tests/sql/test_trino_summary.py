"""`query --engine trino` shows what `query` shows."""

from __future__ import annotations

import pytest

from frazil.environment.settings import Settings
from frazil.errors import QueryError
from frazil.minio.records.shown import shown_columns, shown_names
from frazil.sql import summary, trino_summary
from frazil.sql.trino import TrinoEngine
from tests.sql.conftest import NAMESPACE, LogTables

pytestmark = pytest.mark.trino


@pytest.fixture
def engine(trino: Settings, log_tables: LogTables) -> TrinoEngine:
    return TrinoEngine(trino)


def test_the_same_tables_are_known(engine: TrinoEngine, log_tables: LogTables) -> None:
    assert trino_summary.known_tables(engine, NAMESPACE) == summary.known_tables(log_tables.catalog, NAMESPACE)


@pytest.mark.parametrize("name", ["apilogs", "errorlogs", "auditlogs", "empty"])
def test_both_engines_say_the_same(engine: TrinoEngine, log_tables: LogTables, name: str) -> None:
    own = summary.summarise(log_tables.catalog, NAMESPACE, name, 7, shown_columns, last=True)
    found = trino_summary.summarise(engine, NAMESPACE, name, 7, shown_names, last=True)
    assert (found.name, found.rows) == (own.name, own.rows)
    assert found.snapshot == own.snapshot
    assert found.newest.columns == own.newest.columns
    # of equal times either may come first
    assert [row[0] for row in found.newest.rows] == [row[0] for row in own.newest.rows]
    assert (found.last is None) == (own.last is None)
    if found.last is not None and own.last is not None:
        assert [column.lower() for column in own.last.columns] == list(found.last.columns)


def test_a_namespace_that_does_not_exist(engine: TrinoEngine) -> None:
    with pytest.raises(QueryError, match="nosuch"):
        trino_summary.known_tables(engine, "nosuch")
