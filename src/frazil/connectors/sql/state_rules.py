"""Rules of a statement that keeps state between its batches: what it may have, so that its state is bounded."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from frazil.connectors.sql.functions import STATE_AGGREGATES

_UNITS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
DURATION = re.compile(rf"\s*(\d{{1,9}})\s+({'|'.join(_UNITS)})s?\s*", re.IGNORECASE)
_MOST_WINDOWS = 100
"""Windows that one record may be in."""

PARTS: frozenset[type[exp.Expr]] = frozenset({exp.Group, exp.Having, exp.Distinct, exp.Filter})
"""Nodes that a statement with state has beside those of others."""


@dataclass(frozen=True)
class StateRules:
    """Rules of a configuration about state: the column of each topic's watermark, and whether rows are upserts.

    `id_columns` are those by which an upsert finds its row, empty where the table knows them. With `dedup` a statement
    has state whatever it says.
    """

    watermarks: Mapping[str, str] = field(default_factory=dict, hash=False)
    upserts: bool = False
    id_columns: tuple[str, ...] = ()
    dedup: bool = False


def milliseconds(text: str) -> int | None:
    """Read a duration of one unit, such as `10 seconds`."""
    found = DURATION.fullmatch(text)
    return None if found is None else int(found[1]) * _UNITS[found[2].lower()]


def problem_of_call(call: exp.Anonymous) -> str | None:
    """Tell why a statement with state cannot have an aggregate, or a call for windows."""
    name = str(call.this).lower()
    if name == "window":
        return _problem_of_window(call.expressions)
    if name == "session_window":
        gap = call.expressions[1] if len(call.expressions) == 2 else None
        return None if gap is not None and _literal(gap) else "session_window has a time and a gap: (at, '5 minutes')"
    if any(isinstance(each, exp.Distinct) for each in call.expressions):
        return f"{name}(DISTINCT …) would keep every value; approx_count_distinct counts them"
    if name not in STATE_AGGREGATES:
        return f"{name} would keep every value of a group, or depends on their order"
    return None


def _problem_of_window(arguments: Sequence[exp.Expr]) -> str | None:
    lengths = [_literal(each) for each in arguments[1:]]
    if not 1 <= len(lengths) <= 3 or not all(lengths[:2]) or None in lengths:
        return "window has a time, a duration, and a slide and a start if need be: (at, '10 minutes', '1 minute')"
    if len(lengths) > 1 and (lengths[0] or 0) > _MOST_WINDOWS * (lengths[1] or 1):
        return f"a record would be in more than {_MOST_WINDOWS} windows; let them slide further"
    return None


def _literal(node: exp.Expr) -> int | None:
    return milliseconds(node.name) if isinstance(node, exp.Literal) and node.is_string else None


def group_problem(select: exp.Select, rules: StateRules) -> str | None:
    """Tell why upserts cannot take the groups of the last SELECT: each group is the row that its keys identify."""
    if not rules.id_columns:
        return None
    group = {_text(each) for each in select.args["group"].expressions}
    names = {each.alias_or_name.lower() for each in select.expressions if _is_key(each, group)}
    ids = {name.lower() for name in rules.id_columns}
    if names == ids:
        return None
    return (
        f"rows are upserts by {', '.join(sorted(ids))}, and the columns of GROUP BY are "
        f"{', '.join(sorted(names)) or 'not among the rows'}; they have to be the same"
    )


def _is_key(column: exp.Expr, group: set[str]) -> bool:
    plain = column.unalias()
    of_window = isinstance(plain, exp.Column) and plain.table.lower() in ("window", "session_window")
    return _text(plain) in group or column.alias.lower() in group or (of_window and plain.name.lower() == "start")


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="databricks").lower()


def is_bounded(join: exp.Join, columns: Sequence[str]) -> bool:
    """Whether the condition of a join of two topics bounds their times, whose `columns` are given, from both sides."""
    on, bounds = join.args.get("on"), 0
    for node in on.walk() if on is not None else ():
        if isinstance(node, exp.Between | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.EQ):
            named = [each.name.lower() for each in node.find_all(exp.Column)]
            if all(named.count(column) >= columns.count(column) for column in columns):
                bounds += 2 if isinstance(node, exp.Between | exp.EQ) else 1
    return bounds >= 2
