"""Trino SQL to the embedded engine's SQL, with the scans that it needs."""

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


# Parts of a node that are looked at, and the nodes of sqlglot that have no others.
_FORMS = {
    "this expression": "Add And Dot EQ Escape Extract Filter GT GTE IntervalSpan Is LT LTE Mod Mul NEQ NullSafeEQ "
    "NullSafeNEQ Or Sub",
    "this": "All Any Boolean DataTypeParam Exists From Having HexString IgnoreNulls Neg Not Null Paren RespectNulls "
    "Var Where",
    "expressions": "Cube Distinct GroupingSets Rollup Tuple",
    "": "CurrentDate CurrentTimestamp Localtimestamp Star",
    "this alias": "Alias CTE",
    "this expressions": "Anonymous Bracket Order",
    "this alias with_": "Subquery",
    "this bracket_notation expressions": "Array",
    "this catalog db table": "Column",
    "this catalog db table alias joins version": "Table",
    "this columns": "TableAlias",
    "this default ifs": "Case",
    "this desc nulls_first": "Ordered",
    "this expression kind": "Version",
    "this expression negate": "Like",
    "this expression position": "Trim",
    "this expression safe": "DPipe",
    "this expression safe typed": "Div",
    "this expression with_ order limit offset distinct": "Except Intersect Union",
    "this expressions nested": "DataType",
    "this expressions query": "In",
    "this false true": "If",
    "this high low": "Between",
    "this is_string": "Literal",
    "this kind on side using": "Join",
    "this quoted": "Identifier",
    "this safe to": "Cast TryCast",
    "this substr": "StrPosition",
    "this unit": "Interval",
    "this zone": "AtTimeZone",
    "this alias order over partition_by spec": "Window",
    "alias expressions": "Values",
    "alias expressions offset": "Unnest",
    "count direction limit_options": "Fetch",
    "cube expressions grouping_sets rollup": "Group",
    "distinct expressions from_ group having joins limit offset order where windows with_": "Select",
    "end end_side kind start start_side": "WindowSpec",
    "expression": "Limit Offset",
    "expressions ": "With",
    "rows": "LimitOptions",
}
_KNOWN = {getattr(exp, name): parts.split() for parts, names in _FORMS.items() for name in names.split()}


def check(tree: exp.Expr) -> None:
    """Raise QueryError for a part of the statement that the translation does not look at."""
    for node in tree.walk():
        known = _KNOWN.get(type(node))
        for part, value in node.args.items():
            if value and known is not None and part not in known:
                refuse(f"{part.strip('_').upper().replace('_', ' ')} in {node.sql('trino', comments=False)[:80]}")
        if known is None:
            refuse(f"this use of {type(node).__name__.upper()}: {node.sql('trino', comments=False)[:80]}")
