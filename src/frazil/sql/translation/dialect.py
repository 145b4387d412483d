"""Trino's grammar with every call kept as it was written, and the embedded engine's text around translated nodes."""

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.trino import Trino
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.parsers.trino import TrinoParser

_KEPT = ("CAST", "TRY_CAST", "EXTRACT", "POSITION", "TRIM")
#: Where a node keeps its `Value`.
VALUE = "value"
#: Where an identifier keeps its name as it is written.
WRITTEN = "written"


class TrinoAsWritten(Trino):
    """The parser turns no call into a function of another dialect and no index into one that starts at 0."""

    INDEX_OFFSET = 0

    class Parser(TrinoParser):
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            name: parser for name, parser in TrinoParser.FUNCTION_PARSERS.items() if name in _KEPT
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[TokenType, Any]] = {
            TokenType.CURRENT_DATE: exp.CurrentDate,
            TokenType.CURRENT_TIMESTAMP: exp.CurrentTimestamp,
            TokenType.LOCALTIMESTAMP: exp.Localtimestamp,
        }


class Embedded(DuckDB):
    """Writes a node that has a value as the value's text, and all around it as DuckDB writes it."""

    class Generator(DuckDBGenerator):
        def sql(self, expression: Any, key: str | None = None, comment: bool = True) -> str:
            node = expression.args.get(key) if key and isinstance(expression, exp.Expr) else expression
            value = node.meta.get(VALUE) if isinstance(node, exp.Expr) else None
            return value.sql if value is not None else super().sql(expression, key, comment)


def written(node: exp.Expr) -> str:
    """Text of the embedded engine for a node whose expressions are translated."""
    return Embedded().generator(comments=False, unsupported_level=ErrorLevel.RAISE).generate(node, copy=False)
