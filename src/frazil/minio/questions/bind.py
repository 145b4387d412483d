"""A question with values for its parameters becomes one statement that Trino and the embedded engine both take.

Values go into the syntax tree as literals and never into text, so that no value can be anything but a value.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache

from sqlglot import exp
from sqlglot.dialects.trino import Trino

from frazil.minio.questions.calls import MACROS, RELATIONS
from frazil.minio.questions.question import Question, Value

# A session lives for 7 days at most (MinIO's limit for DurationSeconds).
_SESSION_LIFE = timedelta(days=7)
_DIALECT = Trino()


def statement(question: Question, values: Mapping[str, Value], schema: tuple[str, ...] = ()) -> str:
    """The statement of a question in Trino's dialect, without a semicolon.

    A condition that names a parameter without a value is left out; without `rows` there is no limit. `schema` is put
    before the names of the tables: catalog and schema, or just the schema.
    """
    found = _parsed(question.sql).copy()
    _add_relations(found, question)
    _expand_macros(found)
    _leave_out(found, _with_derived(values))
    _fill(found, _with_derived(values))
    _qualify(found, schema)
    return found.sql(_DIALECT, pretty=True)


def _with_derived(values: Mapping[str, Value]) -> dict[str, Value]:
    since = values.get("since")
    earlier = {"sessions_since": since - _SESSION_LIFE} if isinstance(since, datetime) else {}
    return {**values, **earlier}


@cache
def _parsed(sql: str) -> exp.Query:
    parsed = _DIALECT.parse(sql)[0]
    if not isinstance(parsed, exp.Query):
        raise TypeError(f"a question is a SELECT, not {sql[:80]}")
    return parsed


@cache
def _macro(name: str) -> exp.Expr:
    return _parsed(f"SELECT {MACROS[name][1]}").selects[0]


def _add_relations(found: exp.Query, question: Question) -> None:
    """Put the relations that a statement reads before its own WITH queries, with the columns that are asked of them."""
    for name in reversed(question.relations):
        body = _parsed(RELATIONS[name]).copy()
        wanted = _columns_of(found, name)
        for select in _arms(body):
            select.set("expressions", [item for item in select.expressions if item.alias_or_name.lower() in wanted])
        with_ = found.args.get("with_")
        own = list(with_.expressions) if with_ else []
        cte = exp.CTE(this=body, alias=exp.TableAlias(this=exp.to_identifier(name)))
        found.set("with_", exp.With(expressions=[cte, *own]))


def _columns_of(found: exp.Query, relation: str) -> set[str]:
    """Names mentioned beside a relation, so at least the columns that are read from it."""
    beside = [table.find_ancestor(exp.Select) for table in found.find_all(exp.Table) if table.name == relation]
    return {name.name.lower() for select in beside if select for name in select.find_all(exp.Identifier)}


def _arms(query: exp.Query) -> Iterator[exp.Select]:
    """The SELECTs of a UNION, or the one SELECT."""
    if isinstance(query, exp.Select):
        yield query
    elif isinstance(query, exp.Union):
        yield from _arms(query.left)
        yield from _arms(query.right)


def _expand_macros(found: exp.Query) -> None:
    while calls := [call for call in found.find_all(exp.Anonymous) if call.name.upper() in MACROS]:
        for call in calls:
            names = MACROS[call.name.upper()][0]
            arguments = dict(zip(names, call.expressions, strict=True))
            call.replace(_substituted(_macro(call.name.upper()).copy(), arguments))


def _substituted(body: exp.Expr, arguments: Mapping[str, exp.Expr]) -> exp.Expr:
    for column in list(body.find_all(exp.Column)):
        argument = arguments.get(column.name)
        if argument is not None and not column.table:
            if column is body:
                return argument.copy()
            column.replace(argument.copy())
    return exp.paren(body) if isinstance(body, exp.Binary) else body


def _leave_out(found: exp.Query, values: Mapping[str, Value]) -> None:
    """Remove each condition of a WHERE clause, and each LIMIT, that names a parameter without a value."""

    def unset(node: exp.Expr) -> bool:
        return any(placeholder.name not in values for placeholder in node.find_all(exp.Placeholder))

    for clause in list(found.find_all(exp.Where, exp.Limit)):
        if not unset(clause):
            continue
        kept = [] if isinstance(clause, exp.Limit) else [c for c in _conditions(clause.this) if not unset(c)]
        if kept:
            clause.set("this", exp.and_(*(condition.copy() for condition in kept), copy=False))
        else:
            clause.pop()


def _conditions(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the terms of AND."""
    if isinstance(node, exp.And):
        yield from _conditions(node.this)
        yield from _conditions(node.expression)
    else:
        yield node


def _fill(found: exp.Query, values: Mapping[str, Value]) -> None:
    for placeholder in list(found.find_all(exp.Placeholder)):
        placeholder.replace(literal(values[placeholder.name]))


def literal(value: Value) -> exp.Expr:
    """A value as a literal of Trino: varchar, bigint, or timestamp(6) with time zone for a time with a zone."""
    if isinstance(value, datetime):
        text = value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
        kind = exp.DataType.build("TIMESTAMP(6) WITH TIME ZONE", dialect=_DIALECT)
        return exp.Cast(this=exp.Literal.string(text), to=kind)
    if isinstance(value, int):
        return exp.Literal.number(value)
    return exp.Literal.string(value)


def _qualify(found: exp.Query, schema: tuple[str, ...]) -> None:
    own = {cte.alias for cte in found.find_all(exp.CTE)}
    for table in found.find_all(exp.Table):
        if table.name not in own:
            for level, name in zip(("db", "catalog"), reversed(schema), strict=False):
                table.set(level, exp.to_identifier(name, quoted=True))
