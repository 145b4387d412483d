from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.minio.questions.catalog import VIEWS
from frazil.sql.result import Result
from frazil.sql.show import show, shows
from frazil.sql.statements import split
from tests.sql.catalogs import log_names


def shown(sql: str) -> Result:
    [statement] = split(sql)
    assert shows(statement)
    return show(statement, log_names())


@pytest.mark.parametrize(
    ("sql", "column", "values"),
    [
        ("SHOW CATALOGS", "Catalog", ["kafkawarehouse"]),
        ("SHOW SCHEMAS", "Schema", ["streaming"]),
        ("SHOW SCHEMAS FROM kafkawarehouse", "Schema", ["streaming"]),
        ("show schemas in KAFKAWAREHOUSE", "Schema", ["streaming"]),
        ("SHOW TABLES", "Table", ["apilogs", "auditlogs", "errorlogs"]),
        ("SHOW TABLES FROM kafkawarehouse.streaming", "Table", ["apilogs", "auditlogs", "errorlogs"]),
        ('SHOW TABLES FROM "streaming"', "Table", ["apilogs", "auditlogs", "errorlogs"]),
        ("SHOW TABLES LIKE 'a%'", "Table", ["apilogs", "auditlogs"]),
        ("SHOW TABLES FROM streaming LIKE '___logs'", "Table", ["apilogs"]),
        ("SHOW TABLES LIKE 'api!_logs' ESCAPE '!'", "Table", []),
        ("SHOW TABLES LIKE '.*'", "Table", []),
    ],
)
def test_names(sql: str, column: str, values: list[str]) -> None:
    result = shown(sql)
    assert result.columns == (column,)
    assert list(result.rows) == [(value,) for value in values]


@pytest.mark.parametrize(
    "sql", ["SHOW COLUMNS FROM apilogs", "DESCRIBE kafkawarehouse.streaming.apilogs", "desc APILOGS"]
)
def test_columns_have_trinos_types(sql: str) -> None:
    result = shown(sql)
    assert result.columns == ("Column", "Type", "Extra", "Comment")
    types = {row[0]: row[1] for row in result.rows}
    assert types["time"] == "timestamp(6) with time zone"
    assert types["tags"] == "map(varchar, varchar)"
    assert types["callInfo"].startswith("row(httpStatusCode integer, rx bigint,")


@pytest.mark.parametrize("sql", ["DESCRIBE who_deleted", "SHOW COLUMNS FROM kafkawarehouse.streaming.WHO_DELETED"])
def test_columns_of_a_question(sql: str) -> None:
    types = {row[0]: row[1] for row in shown(sql).rows}
    assert list(types) == list(VIEWS["who_deleted"].columns)
    assert types["time"] == "timestamp(6) with time zone"


def test_columns_of_lists_and_metadata_tables() -> None:
    trace = {row[0]: row[1] for row in shown("DESCRIBE errorlogs").rows}["trace"]
    assert trace == "row(source array(varchar), variables map(varchar, varchar))"
    refs = {row[0]: row[1] for row in shown('DESCRIBE "apilogs$refs"').rows}
    assert refs["min_snapshots_to_keep"] == "integer"
    history = {row[0]: row[1] for row in shown('SHOW COLUMNS FROM "apilogs$history"').rows}
    assert history["made_current_at"] == "timestamp(3) with time zone"


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SHOW", "ends where a word is expected"),
        ("SHOW FUNCTIONS", "does not answer SHOW FUNCTIONS; ask Trino with --engine trino"),
        ("SHOW CREATE TABLE apilogs", "does not answer SHOW CREATE; ask Trino"),
        ("SHOW STATS FOR apilogs", "does not answer SHOW STATS; ask Trino"),
        ("SHOW COLUMNS apilogs", "needs FROM"),
        ("SHOW COLUMNS FROM nosuch", "there is no table"),
        ("SHOW SCHEMAS FROM other", "there is no catalog other"),
        ("SHOW SCHEMAS FROM kafkawarehouse.streaming", "too many parts"),
        ("SHOW TABLES FROM nosuch", "there is no schema nosuch"),
        ("SHOW TABLES FROM a.b.c", "too many parts"),
        ("SHOW TABLES LIKE", "a text in single quotes"),
        ("SHOW TABLES LIKE apilogs", "a text in single quotes"),
        ("SHOW TABLES LIKE 'a!b' ESCAPE '!'", "must be followed by"),
        ("SHOW TABLES LIKE 'a' ESCAPE 'ab'", "one character"),
        ("SHOW TABLES nonsense", "'nonsense' is not understood"),
        ("SHOW TABLES FROM 'streaming'", "expected a name"),
        ("SHOW TABLES LIKE 'open", "not closed"),
        ("DESCRIBE SELECT 1", "is not understood|there is no table"),
    ],
)
def test_what_is_not_understood_says_why(sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        shown(sql)
