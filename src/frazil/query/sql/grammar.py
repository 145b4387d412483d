"""The parts of syntax that the translation knows. Any other part of a node is refused, never left out in silence."""

from __future__ import annotations

from sqlglot import exp

from frazil.query.sql.value import refuse

_BINARY = ("this", "expression")
_MODIFIERS = ("with_", "order", "limit", "offset")
_KNOWN: dict[type[exp.Expr], tuple[str, ...]] = {
    **dict.fromkeys(
        (
            exp.Add,
            exp.And,
            exp.EQ,
            exp.Escape,
            exp.Extract,
            exp.Filter,
            exp.GT,
            exp.GTE,
            exp.LT,
            exp.LTE,
            exp.Mod,
            exp.Mul,
            exp.NEQ,
            exp.NullSafeEQ,
            exp.NullSafeNEQ,
            exp.Or,
            exp.Sub,
            exp.WithinGroup,
        ),
        _BINARY,
    ),
    **dict.fromkeys(
        (
            exp.All,
            exp.Any,
            exp.Exists,
            exp.Having,
            exp.IgnoreNulls,
            exp.Neg,
            exp.Not,
            exp.Paren,
            exp.RespectNulls,
            exp.Where,
        ),
        ("this",),
    ),
    **dict.fromkeys((exp.Cube, exp.Distinct, exp.GroupingSets, exp.Rollup, exp.Struct, exp.Tuple), ("expressions",)),
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
    exp.CurrentTimestamp: (),
    exp.Localtimestamp: (),
    exp.DPipe: (*_BINARY, "safe"),
    exp.Div: (*_BINARY, "typed", "safe"),
    exp.Dot: _BINARY,
    exp.Fetch: ("direction", "count", "limit_options"),
    exp.From: ("this",),
    exp.Group: ("expressions", "grouping_sets", "cube", "rollup"),
    exp.GroupConcat: ("this", "separator"),
    exp.If: ("this", "true", "false"),
    exp.In: ("this", "expressions", "query"),
    exp.Interval: ("this", "unit"),
    exp.Is: _BINARY,
    exp.Join: ("this", "on", "using", "side", "kind", "method"),
    exp.Lambda: ("this", "expressions"),
    exp.Lateral: ("this", "alias", "cross_apply"),
    exp.Like: (*_BINARY, "negate"),
    exp.Limit: ("expression", "offset"),
    exp.LimitOptions: ("rows",),
    exp.Offset: ("expression",),
    exp.Order: ("this", "expressions"),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Select: (
        *_MODIFIERS,
        "distinct",
        "expressions",
        "from_",
        "group",
        "having",
        "joins",
        "where",
        "windows",
    ),
    **dict.fromkeys((exp.Except, exp.Intersect, exp.Union), (*_BINARY, *_MODIFIERS, "distinct")),
    exp.Star: (),
    exp.StrPosition: ("this", "substr"),
    exp.Subquery: ("this", "alias", "joins", *_MODIFIERS),
    exp.Table: ("this", "db", "catalog", "alias", "joins", "version"),
    exp.TableAlias: ("this", "columns"),
    exp.Trim: ("this", "expression", "position"),
    exp.TryCast: ("this", "to", "safe"),
    exp.Unnest: ("expressions", "alias", "offset"),
    exp.Values: ("expressions", "alias"),
    exp.Version: ("this", "expression", "kind"),
    exp.Window: ("this", "partition_by", "order", "spec", "alias", "over"),
    exp.WindowSpec: ("kind", "start", "start_side", "end", "end_side"),
    exp.With: ("expressions", "recursive"),
}


def check(tree: exp.Expr) -> None:
    """Raise QueryError for a part of the statement that the translation does not look at."""
    for node in tree.walk():
        known = _KNOWN.get(type(node))
        if known is None:
            continue
        for part, value in node.args.items():
            if value and part not in known:
                refuse(f"{part.strip('_').upper().replace('_', ' ')} in {node.sql('trino', comments=False)[:80]}")
