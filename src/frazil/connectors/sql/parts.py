"""Parts of a statement: what each may have, and why others are refused."""

from collections.abc import Iterator

from sqlglot import exp

from frazil.connectors.sql.functions import AGGREGATES, CHANGING, FUNCTIONS, LENGTHS, WITHOUT_PARENTHESES
from frazil.connectors.sql.grammar import PARTS, STATEFUL
from frazil.connectors.sql.places import where

_LONGEST = 10_000
ALLOWED = "a statement has SELECT, and before it CREATE TEMPORARY VIEW name AS SELECT, separated by ;"


class StatementError(ValueError):
    """A statement that cannot run, with the line and column of its text where that is known."""


class NeedsState(StatementError):
    """A statement with a part that needs several records at a time."""


_ARGUMENTS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: ("with_", "expressions", "from_", "joins", "laterals", "where", "kind", "group", "having", "distinct"),
    exp.Group: ("expressions",),
    exp.Distinct: (),
    exp.Table: ("this", "alias", "db", "catalog"),
    exp.Subquery: ("this", "alias", "with_"),
    exp.Union: ("with_", "this", "expression", "distinct", "by_name"),
    exp.Join: ("this", "on", "using", "side", "kind", "method"),
    exp.Lateral: ("this", "view", "outer", "alias"),
    exp.Star: ("except_",),
}
"""Arguments that nodes may have; no list is for those of which all are harmless."""


def view_of(statement: exp.Expr) -> tuple[exp.Identifier, exp.Expr]:
    """Take name and query of CREATE TEMPORARY VIEW. Raises StatementError for any other statement."""
    if not isinstance(statement, exp.Create):
        raise StatementError(f"{where(statement)}{words(statement)} is not allowed; {ALLOWED}")
    found = statement.args.get("properties")
    kinds = [type(each) for each in found.expressions] if found is not None else []
    query, name = statement.expression, statement.this
    more = [
        key
        for key, value in statement.args.items()
        if value and key not in ("this", "kind", "expression", "properties")
    ]
    if more == ["replace"]:
        more = []
    if statement.kind != "VIEW" or kinds != [exp.TemporaryProperty] or more or not isinstance(query, exp.Query):
        raise StatementError(f"{where(statement)}this CREATE is not allowed; {ALLOWED}")
    if not isinstance(name, exp.Table) or name.args.get("db") is not None or not isinstance(name.this, exp.Identifier):
        raise StatementError(f"{where(statement)}a view has a plain name, and its columns are named in its SELECT")
    return name.this, query


def nested(select: exp.Select, sources: set[int]) -> Iterator[exp.Expr]:
    """Find the queries in the expressions of a SELECT, without those inside of them."""
    waiting: list[exp.Expr] = [select]
    while waiting:
        for child in waiting.pop().iter_expressions():
            if isinstance(child, exp.With) or id(child) in sources:
                continue
            if isinstance(child, exp.Select | exp.Union):
                yield child
            else:
                waiting.append(child)


def is_star(star: exp.Star) -> bool:
    """Whether a star stands for columns, not for the records that a function counts."""
    above = star.parent.parent if isinstance(star.parent, exp.Column) else star.parent
    return not isinstance(above, exp.Anonymous)


def check_join(join: exp.Join, *, is_stream: bool, has_stream: bool) -> None:
    """Refuse a join that gives rows of no record, or of columns that are hidden."""
    side, kind = (join.side or "").upper(), (join.kind or "").upper()
    if (join.method or "").upper() == "NATURAL":
        raise StatementError("NATURAL JOIN would join by columns that are hidden; name them with USING or ON")
    outer = side in ("RIGHT", "FULL") or (is_stream and (side or kind in ("SEMI", "ANTI")))
    if has_stream and outer:
        raise StatementError(
            f"{where(join.this)}this join gives rows that are from no record, or hides which; the topic stands on the "
            "left of a LEFT JOIN, or on any side of JOIN"
        )


def problem_of(node: exp.Expr, part: exp.Expr) -> str | None:
    """Tell why a statement cannot have a node, or the `part` of it that needs several records."""
    if type(part) in STATEFUL:
        return f"{STATEFUL[type(part)]} needs several records at a time, which a statement cannot have"
    if type(node) not in PARTS:
        return f"{words(node)} is not allowed in a statement"
    if isinstance(node, exp.Anonymous):
        return _problem_of_call(node)
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in WITHOUT_PARENTHESES:
        return f"{node.name} says something of Spark or its clock, not of a record"
    if isinstance(node, exp.Identifier) and node.name.lower().startswith("_frazil"):
        return "names that begin with _frazil are kept for the connector"
    return problem_of_part(node)


def problem_of_part(node: exp.Expr) -> str | None:
    """Tell what a node has that it may not have."""
    known = _ARGUMENTS.get(type(node), node.args)
    unknown = [name for name, found in node.args.items() if found and name not in known]
    if isinstance(node, exp.Distinct) and isinstance(node.parent, exp.Anonymous):
        return None  # its call says more
    return f"{words(node)} with {unknown[0].strip('_')} is not allowed in a statement" if unknown else None


def _problem_of_call(call: exp.Anonymous) -> str | None:
    name = str(call.this).lower()
    if name in AGGREGATES:
        return f"{name} is over several records, which a statement cannot have"
    if name in CHANGING:
        return (
            f"{name} gives something else each time, and a batch may be read again; _timestamp is the time of the "
            "record"
        )
    if name not in FUNCTIONS:
        return f"there is no function {name} that a statement may call"
    if name == "window" and len(call.expressions) != 2:
        return "window has a time and a duration: windows that slide make many rows of a record"
    if name in LENGTHS and len(call.expressions) > LENGTHS[name]:
        length = call.expressions[LENGTHS[name]]
        if not isinstance(length, exp.Literal) or length.is_string or not 0 <= int(length.name) <= _LONGEST:
            return f"the length for {name} is a number of at most {_LONGEST:,}"
    return None


def words(node: exp.Expr) -> str:
    """Write a part of a statement in few words."""
    text = node.sql(dialect="databricks") if not isinstance(node, exp.Command) else str(node.this)
    return f"{text[:40]}…" if len(text) > 40 else text or type(node).__name__
