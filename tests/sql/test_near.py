from __future__ import annotations

import re

import pytest
from pyiceberg.typedef import Identifier

from frazil.errors import QueryError
from frazil.sql.names import Names
from frazil.text.near import did_you_mean
from tests.sql.catalogs import MetadataCatalog, translated


@pytest.mark.parametrize(
    ("name", "hint"),
    [("apilog", "; did you mean apilogs?"), ("ERRORLOG", "; did you mean errorLogs?"), ("xyz", ""), ("", "")],
)
def test_the_nearest_name(name: str, hint: str) -> None:
    assert did_you_mean(name, ["apilogs", "errorLogs"]) == hint


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT * FROM apilog", "there is no table streaming.apilog; did you mean apilogs?; known tables: "),
        ("SELECT * FROM who_delete", "there is no table streaming.who_delete; did you mean who_deleted?; known"),
        ("SELECT * FROM streeming.apilogs", "there is no schema streeming; did you mean streaming?; known schemas:"),
        ("SELECT * FORM apilogs", "at or near 'apilogs'; did you mean FROM instead of FORM?"),
        ("SELECT bucket FROM apilogs a WEHRE a.bucket = 'x'", "did you mean WHERE instead of WEHRE?"),
        ("SELECT bucket FROM apilogs ORDER bucket", "did you mean ORDER BY?"),
        ("SELECT bucket, count(*) FROM apilogs\nGROUP bucket", "did you mean GROUP BY?"),
        ("SELECT bucket FROM apilogs ORDR BY bucket", "did you mean ORDER instead of ORDR?"),
        ("SELECT buckt FROM apilogs", "column buckt cannot be resolved; did you mean bucket?"),
        ("SELECT nosuchthing FROM apilogs", "column nosuchthing cannot be resolved; SHOW COLUMNS FROM a table lists"),
        ("SELECT callInfo.httpStatus FROM apilogs", "did you mean httpStatusCode?"),
        ("SELECT 1 FROM apilogs WHERE time > '2026-11-28'", "write TIMESTAMP '2026-11-28 00:00:00'"),
        ("SELECT 1 FROM apilogs WHERE '2026-11-28 10:00:00' < time", "write TIMESTAMP '2026-11-28 10:00:00'"),
        ("SELECT 1 FROM apilogs WHERE time > 'yesterday'", "write TIMESTAMP '2026-01-31 00:00:00'"),
        ("SELECT 1 FROM apilogs WHERE date(time) = '2026-11-28'", "write DATE '2026-11-28'"),
        ("SELECT 1 FROM apilogs WHERE bucket > 1", "write a CAST"),
    ],
)
def test_messages_of_the_engine_say_what_was_meant(sql: str, text: str) -> None:
    with pytest.raises(QueryError) as error:
        translated(sql)
    assert text in str(error.value)


class TwoSchemas(MetadataCatalog):
    """Tables `logs.calls` and `shop.orders`."""

    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        return [("logs",), ("shop",)]

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        return [("logs", "calls") if namespace == ("logs",) else ("shop", "orders")]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (["shop", "order"], "no table shop.order; did you mean shop.orders?"),
        (["call"], "no table logs.call; did you mean calls?"),
        (["Orders"], "no table logs.Orders; there is shop.orders; known tables: calls"),
    ],
)
def test_a_table_of_another_schema_is_named_with_it(parts: list[str], told: str) -> None:
    with pytest.raises(QueryError, match=re.escape(told)):
        Names(TwoSchemas({}), "w", "logs").source(parts)
