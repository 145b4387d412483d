"""The statement of a connector: parsed, checked, and written for Spark with the places of its records.

A statement has no state: each of its rows comes from one record. So each SELECT that reads a topic gets a hidden column
more, which says which record a row is from:

    SELECT id, explode(items) AS item FROM orders WHERE total > 0
    SELECT id, explode(items) AS item, orders.`_frazil` AS `_frazil` FROM `frazil_topic_0` AS orders WHERE total > 0

What Spark gets is written from the parsed tree, in which every node, function and relation is one that is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from frazil.connectors.sql.functions import AGGREGATES, CHANGING, FUNCTIONS, LENGTHS, WITHOUT_PARENTHESES
from frazil.connectors.sql.grammar import PARTS, STATEFUL, SparkAsWritten
from frazil.connectors.sql.patterns import bound_texts
from frazil.connectors.sql.places import keep_places, parse_problem, place_of, where, written
from frazil.connectors.sql.sizes import bound_sizes

PLACE = "_frazil"
"""The hidden column with the place of the record that a row is from."""
RECORDS = "records"
"""Name of the table that all topics of a pattern are."""
METADATA = ("_topic", "_partition", "_offset", "_timestamp", "_key", "_headers")
"""Columns of every topic, beside those of its values; `*` does not stand for them."""
_LONGEST = 10_000
_ALLOWED = "a statement has SELECT, and before it CREATE TEMPORARY VIEW name AS SELECT, separated by ;"


Topics: TypeAlias = tuple[str, ...]


class StatementError(ValueError):
    """A statement that cannot run, with the line and column of its text where that is known."""


@dataclass(frozen=True)
class Statement:
    """A checked statement: `text` is for Spark, where topic number n of `topics` is relation `topic_relation(n)`.

    `tables` are the Iceberg tables that it reads, `metadata` the columns of METADATA that it names. `reads` are its
    topics, one twice whose records it goes through twice; `places` are those that parts of `text` are from.
    """

    text: str
    topics: tuple[str, ...]
    tables: tuple[str, ...]
    metadata: tuple[str, ...]
    reads: Topics
    places: tuple[tuple[int, int, int], ...] = ()

    def place_of(self, index: int) -> str:
        """Line and column that what stands in `text` at an index is from, where they are known."""
        return place_of(self.places, index)


def topic_relation(number: int) -> str:
    """Name of the relation of a topic in Spark."""
    return f"frazil_topic_{number}"


def table_relation(number: int) -> str:
    """Name of the relation of an Iceberg table in Spark."""
    return f"frazil_table_{number}"


def parse_statement(text: str, topics: Sequence[str]) -> Statement:
    """Check the statement of a connector with these topics. Raises StatementError."""
    try:
        parsed = SparkAsWritten().parse(text)
    except (ParseError, TokenError, RecursionError) as error:
        raise StatementError(parse_problem(error, text)) from None
    statements = [each for each in parsed if each is not None]
    if not statements:
        raise StatementError(f"there is no statement; {_ALLOWED}")
    keep_places(statements, text)
    return _Compiler(topics).compile(statements)


class _Compiler:
    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = tuple(topics)
        self._tables: list[str] = []
        self._read: set[str] = set()
        self._metadata: tuple[str, ...] = ()

    def compile(self, statements: Sequence[exp.Expr]) -> Statement:
        *views, last = statements
        scope: dict[str, Topics] = {}
        ctes: list[exp.CTE] = []
        names = {each.name.lower() for statement in statements for each in statement.find_all(exp.Identifier)}
        self._metadata = tuple(name for name in METADATA if name in names)
        for view in views:
            name, query = _view(view)
            self._check(query)
            self._is_new(name, scope)
            scope[name.name.lower()] = self._query(query, scope)
            ctes.append(exp.CTE(this=query, alias=exp.TableAlias(this=name.copy())))
        if not isinstance(last, exp.Query) or isinstance(last, exp.Subquery):
            raise StatementError(f"{where(last)}the last statement is no SELECT; {_ALLOWED}")
        self._check(last)
        reads = self._query(last, scope)
        if not reads:
            raise StatementError(f"it reads none of the topics {', '.join(self._topics)}")
        unread = [topic for topic in self._topics if topic not in self._read]
        if unread:
            raise StatementError(f"it does not read {', '.join(unread)}, which topics names")
        if ctes:
            own = last.args.get("with_")
            last.set("with_", exp.With(expressions=[*ctes, *(own.expressions if own is not None else [])]))
        text, places = written(last)
        return Statement(text, self._topics, tuple(self._tables), self._metadata, reads, places)

    def _check(self, query: exp.Expr) -> None:
        """Refuse every node and function that is not known to be harmless."""
        nodes = list(query.walk())
        for node in nodes:
            part = next((each for each in node.args.values() if type(each) in STATEFUL), node)
            problem = _problem(node, part)
            if problem is not None:
                raise StatementError(f"{where(part) or where(node)}{problem}")
        for node in reversed(nodes):
            problem = bound_texts(node)
            if problem is not None:
                raise StatementError(f"{where(node)}{problem}")
            bound_sizes(node)

    def _query(self, query: exp.Expr, scope: Mapping[str, Topics]) -> Topics:
        """Give a query its hidden columns where it reads a topic; gives the topics that it reads."""
        scope = dict(scope)
        with_ = query.args.get("with_")
        if with_ is not None and with_.recursive:
            raise StatementError(f"{where(with_)}WITH RECURSIVE is not allowed in a statement")
        for cte in with_.expressions if with_ is not None else ():
            name = cte.args["alias"].this
            self._is_new(name, scope)
            scope[name.name.lower()] = self._query(cte.this, scope)
        if isinstance(query, exp.Subquery):
            return self._query(query.this, scope)
        if isinstance(query, exp.Union):
            return self._union(query, scope)
        if not isinstance(query, exp.Select):
            raise StatementError(f"{where(query)}{_words(query)} is not allowed in a statement")
        return self._select(query, scope)

    def _union(self, query: exp.Union, scope: Mapping[str, Topics]) -> Topics:
        if query.args.get("distinct"):
            raise StatementError(f"{where(query.right)}UNION needs several records at a time; write UNION ALL")
        if query.args.get("by_name"):
            raise StatementError(
                "UNION BY NAME is not allowed in a statement; write UNION ALL with the columns in order"
            )
        reads = self._query(query.left, scope), self._query(query.right, scope)
        if bool(reads[0]) != bool(reads[1]):
            raise StatementError("UNION ALL of rows of a topic and others would store the others with every batch")
        return reads[0] + reads[1]

    def _select(self, select: exp.Select, scope: Mapping[str, Topics]) -> Topics:
        from_ = select.args.get("from_")
        joins = [join for join in select.args.get("joins") or () if not isinstance(join.this, exp.Lateral)]
        sources = [from_.this, *(join.this for join in joins)] if from_ is not None else []
        reads = [self._source(source, scope) for source in sources]
        streams = [source for source, topics in zip(sources, reads, strict=True) if topics]
        inner = {id(source.this) for source in sources if isinstance(source, exp.Subquery)}
        for nested in _nested(select, inner):
            if self._query(nested, scope):
                raise StatementError(f"{where(nested)}a subquery in an expression cannot read a topic")
        if len(streams) > 1:
            raise StatementError(
                f"{where(streams[1])}two topics are joined, which needs their records of all time; join a topic "
                "with a table, or store both and join the tables"
            )
        if not streams:
            return ()
        for join in joins:
            _check_join(join, is_stream=join.this is streams[0], has_stream=True)
        self._hide(select, streams[0])
        return next(filter(None, reads))

    def _source(self, source: exp.Expr, scope: Mapping[str, Topics]) -> Topics:
        """Put the name of Spark's relation in place of a source's; gives the topics that it reads."""
        if isinstance(source, exp.Subquery):
            if source.args.get("alias") is None:
                raise StatementError(f"{where(source)}a subquery in FROM needs a name: FROM (SELECT …) AS name")
            return self._query(source.this, scope)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            raise StatementError(
                f"{where(source)}FROM reads topics, views and tables only, here it is {_words(source)}"
            )
        alias, name = source.args.get("alias"), source.this.name
        if alias is not None and alias.args.get("columns"):
            raise StatementError(f"{where(source)}columns are named in SELECT, not behind the table")
        if source.args.get("db") is None and name.lower() in scope:
            return scope[name.lower()]
        found = name in self._topics and source.args.get("db") is None
        if not found and source.args.get("db") is None:
            known = ", ".join([*self._topics, *scope])
            raise StatementError(
                f"{where(source)}there is no topic or view {name}; there are {known}. A topic with a dot or a dash in "
                "its name stands in `backquotes`, a table has its namespace: namespace.table"
            )
        if alias is None:
            source.set("alias", exp.TableAlias(this=source.this.copy()))
        if found:
            self._read.add(name)
            relation = topic_relation(self._topics.index(name))
        else:
            table = ".".join(part.name for part in source.parts)
            if table not in self._tables:
                self._tables.append(table)
            relation = table_relation(self._tables.index(table))
        for part in ("db", "catalog"):
            source.set(part, None)
        source.set("this", exp.to_identifier(relation, quoted=True))
        return (name,) if found else ()

    def _hide(self, select: exp.Select, stream: exp.Expr) -> None:
        """Add the place of the record, which `*` does not stand for."""
        name = stream.args["alias"].this if stream.args.get("alias") is not None else stream.this
        is_topic = isinstance(stream, exp.Table) and stream.name.startswith(topic_relation(0)[:-1])
        hidden = [PLACE, *(self._metadata if is_topic else ())]
        for column in select.expressions:
            star = column.this if isinstance(column, exp.Column) else column
            if not isinstance(star, exp.Star):
                continue
            if isinstance(column, exp.Column) and column.table.lower() != name.name.lower():
                continue
            known = [each.name.lower() for each in star.args.get("except_") or ()]
            more = [exp.column(exp.to_identifier(each, quoted=True)) for each in hidden if each not in known]
            star.set("except_", [*(star.args.get("except_") or ()), *more])
        place = exp.column(exp.to_identifier(PLACE, quoted=True), table=name.copy())
        select.append("expressions", exp.alias_(place, exp.to_identifier(PLACE, quoted=True)))

    def _is_new(self, name: exp.Identifier, scope: Mapping[str, Topics]) -> None:
        if name.name.lower() in scope or name.name in self._topics:
            raise StatementError(f"{where(name)}{name.name} is the name of a topic or another view already")


_ARGUMENTS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: ("with_", "expressions", "from_", "joins", "laterals", "where", "kind"),
    exp.Table: ("this", "alias", "db", "catalog"),
    exp.Subquery: ("this", "alias", "with_"),
    exp.Union: ("with_", "this", "expression", "distinct", "by_name"),
    exp.Join: ("this", "on", "using", "side", "kind", "method"),
    exp.Lateral: ("this", "view", "outer", "alias"),
    exp.Star: ("except_",),
}
"""Arguments that nodes may have; no list is for those of which all are harmless."""


def _view(statement: exp.Expr) -> tuple[exp.Identifier, exp.Expr]:
    """Take name and query of CREATE TEMPORARY VIEW. Raises StatementError for any other statement."""
    if not isinstance(statement, exp.Create):
        raise StatementError(f"{where(statement)}{_words(statement)} is not allowed; {_ALLOWED}")
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
        raise StatementError(f"{where(statement)}this CREATE is not allowed; {_ALLOWED}")
    if not isinstance(name, exp.Table) or name.args.get("db") is not None or not isinstance(name.this, exp.Identifier):
        raise StatementError(f"{where(statement)}a view has a plain name, and its columns are named in its SELECT")
    return name.this, query


def _nested(select: exp.Select, sources: set[int]) -> Iterator[exp.Expr]:
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


def _check_join(join: exp.Join, *, is_stream: bool, has_stream: bool) -> None:
    side, kind = (join.side or "").upper(), (join.kind or "").upper()
    if (join.method or "").upper() == "NATURAL":
        raise StatementError("NATURAL JOIN would join by columns that are hidden; name them with USING or ON")
    outer = side in ("RIGHT", "FULL") or (is_stream and (side or kind in ("SEMI", "ANTI")))
    if has_stream and outer:
        raise StatementError(
            f"{where(join.this)}this join gives rows that are from no record, or hides which; the topic stands on the "
            "left of a LEFT JOIN, or on any side of JOIN"
        )


def _problem(node: exp.Expr, part: exp.Expr) -> str | None:
    """Tell why a statement cannot have a node, or the `part` of it that needs several records."""
    if type(part) in STATEFUL:
        return f"{STATEFUL[type(part)]} needs several records at a time, which a statement cannot have"
    if type(node) not in PARTS:
        return f"{_words(node)} is not allowed in a statement"
    if isinstance(node, exp.Anonymous):
        return _problem_of_call(node)
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in WITHOUT_PARENTHESES:
        return f"{node.name} says something of Spark or its clock, not of a record"
    if isinstance(node, exp.Identifier) and node.name.lower().startswith("_frazil"):
        return "names that begin with _frazil are kept for the connector"
    known = _ARGUMENTS.get(type(node), node.args)
    unknown = [name for name, found in node.args.items() if found and name not in known]
    return f"{_words(node)} with {unknown[0].strip('_')} is not allowed in a statement" if unknown else None


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


def _words(node: exp.Expr) -> str:
    text = node.sql(dialect="databricks") if not isinstance(node, exp.Command) else str(node.this)
    return f"{text[:40]}…" if len(text) > 40 else text or type(node).__name__
