"""The parts of syntax that the translation knows. Any other part of a node is refused, never left out in silence."""

from __future__ import annotations

from sqlglot import exp

from frazil.query.sql.value import refuse

_BINARY = ("this", "expression")
_MODIFIERS = ("with_", "order", "limit", "offset")
_KNOWN: dict[type[exp.Expr], tuple[str, ...]] = {
    **dict.fromkeys(
        (exp.Add, exp.And, exp.EQ, exp.Escape, exp.Extract, exp.Filter, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Mod)
        + (exp.Mul, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Or, exp.Sub, exp.Dot, exp.Is, exp.IntervalSpan),
        _BINARY,
    ),
    **dict.fromkeys(
        (exp.All, exp.Any, exp.Exists, exp.Having, exp.IgnoreNulls, exp.Neg, exp.Not, exp.Paren, exp.RespectNulls)
        + (exp.Where, exp.From, exp.Placeholder, exp.Null, exp.Boolean, exp.HexString, exp.Var),
        ("this",),
    ),
    **dict.fromkeys((exp.Cube, exp.Distinct, exp.GroupingSets, exp.Rollup, exp.Tuple), ("expressions",)),
    **dict.fromkeys((exp.Star, exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp), ()),
    exp.Alias: ("this", "alias"),
    exp.Anonymous: ("this", "expressions"),
    exp.Array: ("expressions", "bracket_notation"),
    exp.AtTimeZone: ("this", "zone"),
    exp.Between: ("this", "low", "high"),
    exp.Bracket: ("this", "expressions"),
    exp.CTE: ("this", "alias"),
    exp.Case: ("this", "ifs", "default"),
    exp.Cast: ("this", "to"),
    exp.Column: ("this", "table", "db", "catalog"),
    exp.DPipe: (*_BINARY, "safe"),
    exp.DataType: ("this", "expressions", "nested"),
    exp.DataTypeParam: ("this",),
    exp.Div: (*_BINARY, "typed", "safe"),
    exp.Fetch: ("direction", "count", "limit_options"),
    exp.Group: ("expressions", "grouping_sets", "cube", "rollup"),
    exp.Identifier: ("this", "quoted"),
    exp.If: ("this", "true", "false"),
    exp.In: ("this", "expressions", "query"),
    exp.Interval: ("this", "unit"),
    exp.Join: ("this", "on", "using", "side", "kind"),
    exp.Like: (*_BINARY, "negate"),
    exp.Limit: ("expression",),
    exp.LimitOptions: ("rows",),
    exp.Literal: ("this", "is_string"),
    exp.Offset: ("expression",),
    exp.Order: ("this", "expressions"),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Select: (*_MODIFIERS, "distinct", "expressions", "from_", "group", "having", "joins", "where", "windows"),
    **dict.fromkeys((exp.Except, exp.Intersect, exp.Union), (*_BINARY, *_MODIFIERS, "distinct")),
    exp.StrPosition: ("this", "substr"),
    exp.Subquery: ("this", "alias", "with_"),
    exp.Table: ("this", "db", "catalog", "alias", "joins", "version"),
    exp.TableAlias: ("this", "columns"),
    exp.Trim: ("this", "expression", "position"),
    exp.TryCast: ("this", "to", "safe"),
    exp.Unnest: ("expressions", "alias", "offset"),
    exp.Values: ("expressions", "alias"),
    exp.Version: ("this", "expression", "kind"),
    exp.Window: ("this", "partition_by", "order", "spec", "alias", "over"),
    exp.WindowSpec: ("kind", "start", "start_side", "end", "end_side"),
    exp.With: ("expressions",),
}


def check(tree: exp.Expr) -> None:
    """Raise QueryError for a part of the statement that the translation does not look at."""
    for node in tree.walk():
        known = _KNOWN.get(type(node))
        shown = node.sql("trino", comments=False)[:80]
        if known is None:
            refuse(f"this use of {type(node).__name__.upper()}: {shown}")
        for part, value in node.args.items():
            if value and part not in known:
                refuse(f"{part.strip('_').upper().replace('_', ' ')} in {shown}")
