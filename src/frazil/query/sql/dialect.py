"""Trino's grammar, with every function call kept as it was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.trino import Trino
from sqlglot.parsers.trino import TrinoParser

_KEPT = ("CAST", "TRY_CAST", "EXTRACT", "LISTAGG", "POSITION", "TRIM")


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
