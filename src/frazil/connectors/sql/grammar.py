"""Spark's grammar with every call kept as it was written, and the parts of it that a statement may have."""

import logging
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.generators.databricks import DatabricksGenerator
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import TokenType

# sqlglot warns on standard error about what it cannot parse; here it is an error of its own.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

_KEPT = ("CAST", "TRY_CAST", "EXTRACT", "POSITION", "TRIM")


class WritesAsWritten(DatabricksGenerator):
    """Shifts stay operators: what they bind is for Spark to say."""

    TRANSFORMS: ClassVar[dict[Any, Callable[..., str]]] = {
        **DatabricksGenerator.TRANSFORMS,
        exp.BitwiseLeftShift: lambda self, shift: self.binary(shift, "<<"),
        exp.BitwiseRightShift: lambda self, shift: self.binary(shift, ">>"),
    }


class SparkAsWritten(Databricks):
    """The parser turns no call into a function of another dialect: Spark gets the names that the user wrote."""

    class Parser(DatabricksParser):
        ADJACENT_STRINGS_CANNOT_BE_CONNECTED: ClassVar = True
        ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        # Behind GROUP BY, `window` is the function.
        QUERY_MODIFIER_PARSERS: ClassVar[dict[Any, Callable[..., Any]]] = {
            token: parser
            for token, parser in DatabricksParser.QUERY_MODIFIER_PARSERS.items()
            if token is not TokenType.WINDOW
        }
        QUERY_MODIFIER_TOKENS: ClassVar[set[TokenType]] = set(QUERY_MODIFIER_PARSERS)
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            name: parser for name, parser in DatabricksParser.FUNCTION_PARSERS.items() if name in _KEPT
        }

        def _parse_interval(  # type: ignore[override]
            self, require_interval: bool = True, parse_function_unit: bool = True
        ) -> exp.Add | exp.Interval | exp.Paren | None:
            """Keep an interval of several units together: it is parsed as their sum."""
            found = super()._parse_interval(require_interval, parse_function_unit)
            return exp.Paren(this=found) if isinstance(found, exp.Add) else found

    Generator = WritesAsWritten


def spark_text(node: exp.Expr) -> str:
    """Write a statement as Spark reads it, without comments."""
    text: str = SparkAsWritten().generate(node, copy=False, comments=False, normalize_functions=False)
    return text


PARTS: frozenset[type[exp.Expr]] = frozenset(
    {
        *(
            exp.Select,
            exp.From,
            exp.Where,
            exp.Join,
            exp.Lateral,
            exp.Subquery,
            exp.Exists,
            exp.With,
            exp.CTE,
            exp.Union,
        ),
        *(exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Dot, exp.Star, exp.Alias, exp.Aliases),
        *(
            exp.Literal,
            exp.RawString,
            exp.Boolean,
            exp.Null,
            exp.HexString,
            exp.Interval,
            exp.Var,
            exp.Tuple,
            exp.Paren,
        ),
        *(exp.Not, exp.And, exp.Or, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape),
        *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe),
        *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift),
        *(exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Extract),
        *(exp.Trim, exp.StrPosition, exp.Anonymous, exp.Lambda, exp.Bracket, exp.Slice),
        *(exp.Array, exp.Transform, exp.Concat),
    }
)
"""Nodes of a statement that has no state and reads nothing but its relations; all others are refused."""

STATEFUL: dict[type[exp.Expr], str] = {
    exp.Group: "GROUP BY",
    exp.Having: "HAVING",
    exp.Distinct: "DISTINCT",
    exp.Window: "a window (OVER)",
    exp.Order: "ORDER BY",
    exp.Limit: "LIMIT",
    exp.Offset: "OFFSET",
    exp.Intersect: "INTERSECT",
    exp.Except: "EXCEPT",
    exp.Qualify: "QUALIFY",
}
"""Nodes that need more than one record at a time, with the words that name them."""
