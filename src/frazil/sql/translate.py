"""Trino SQL to the embedded engine's SQL, with the scans that it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from frazil.errors import QueryError
from frazil.sql.expansion import expand_views
from frazil.sql.names import Names
from frazil.sql.session import constant
from frazil.sql.statements import Statement
from frazil.sql.translation.grammar import check
from frazil.sql.translation.queries import Queries
from frazil.sql.translation.scans import Scan, Tables
from frazil.sql.translation.types import Type
from frazil.sql.translation.value import refuse


@dataclass(frozen=True)
class Translation:
    """A statement for the embedded engine, its scans, and names and types of the columns that it answers with."""

    sql: str
    scans: tuple[Scan, ...]
    columns: tuple[str, ...]
    types: tuple[Type, ...]


def translate(statement: Statement, names: Names, evaluate: Callable[[str], Any] = constant) -> Translation:
    """Translate a statement that reads tables; `evaluate` computes the text of a constant.

    SHOW and DESCRIBE are answered by `frazil.sql.show`. Raises QueryError when a name cannot be resolved, types do
    not fit, or the engine has no counterpart for a construct.
    """
    if "\0" in statement.text:
        raise QueryError("the statement holds a character U+0000, which no text can have")
    tree = expand_views(statement.parse(), names)
    if not isinstance(tree, exp.Query | exp.Values | exp.Table):
        raise QueryError(f"{statement.keyword} ... is not a statement that can be answered: {statement.text[:80]}")
    check(tree)
    tables = Tables(names, evaluate)
    try:
        sql, columns, types = Queries(tables).translate(tree)
    except SqlglotError as error:
        refuse(f"{statement.text[:80]} ({error})")
    except RecursionError:
        raise QueryError("the statement is nested too deeply; split it into WITH parts") from None
    return Translation(sql, tables.scans(), columns, types)
