"""The statement of a connector: parsed, checked, and written for Spark with the places of its records.

Each row of a statement without state comes from one record. So each SELECT that reads a topic gets a hidden column
more, which says which record a row is from:

    SELECT id, explode(items) AS item FROM orders WHERE total > 0
    SELECT id, explode(items) AS item, orders.`_frazil` AS `_frazil` FROM `frazil_topic_0` AS orders WHERE total > 0

One with state (GROUP BY, DISTINCT, a join of topics) has rows of several records, and no such column.

What Spark gets is written from the parsed tree, in which every node, function and relation is one that is known.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from frazil.connectors.sql.checked import bound_sizes, bound_texts
from frazil.connectors.sql.functions import AGGREGATES
from frazil.connectors.sql.grammar import STATEFUL, SparkAsWritten
from frazil.connectors.sql.parts import (
    ALLOWED,
    NeedsState,
    StatementError,
    check_join,
    is_star,
    nested,
    problem_of,
    problem_of_part,
    view_of,
    words,
)
from frazil.connectors.sql.places import keep_places, parse_problem, place_of, where, written
from frazil.connectors.sql.state_rules import PARTS as STATE_PARTS
from frazil.connectors.sql.state_rules import StateRules, group_problem, is_bounded, problem_of_call

PLACE = "_frazil"
"""The hidden column with the place of the record that a row is from."""
RECORDS = "records"
"""Name of the table that all topics of a pattern are."""
METADATA = ("_topic", "_partition", "_offset", "_timestamp", "_key", "_headers")
"""Columns of every topic, beside those of its values; `*` does not stand for them."""


Topics: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """A checked statement: `text` is for Spark, where topic number n of `topics` is relation `topic_relation(n)`.

    `tables` are the tables that it reads beside them, `metadata` the columns of METADATA that it names, `names` all
    names that columns of topics may stand for, None with `*` and with state. `reads` are its topics, one twice whose
    records it goes through twice; `places` are those that parts of `text` are from. With `state` it keeps some between
    batches; with `updates` its rows replace those of the same groups before.
    """

    text: str
    topics: tuple[str, ...]
    tables: tuple[str, ...]
    metadata: tuple[str, ...]
    reads: Topics
    places: tuple[tuple[int, int, int], ...] = ()
    state: bool = False
    updates: bool = False
    names: frozenset[str] | None = None

    def place_of(self, index: int) -> str:
        """Line and column that what stands in `text` at an index is from, where they are known."""
        return place_of(self.places, index)


def topic_relation(number: int) -> str:
    """Name of the relation of a topic in Spark."""
    return f"frazil_topic_{number}"


def table_relation(number: int) -> str:
    """Name of the relation of an Iceberg table in Spark."""
    return f"frazil_table_{number}"


def parse_statement(
    text: str, topics: Sequence[str], state: StateRules | None = None, functions: Collection[str] = ()
) -> Statement:
    """Check the statement of a connector with these topics, which may keep state by some rules.

    `functions` are names of those that it may call beside Spark's.

    Raises StatementError, NeedsState for a statement that may not.
    """
    if state is None or not state.dedup:
        try:
            return _Compiler(topics, None, functions).compile(_parsed(text))
        except NeedsState:
            if state is None:
                raise
    return _Compiler(topics, state, functions).compile(_parsed(text))


def _parsed(text: str) -> list[exp.Expr]:
    try:
        parsed = SparkAsWritten().parse(text)
    except (ParseError, TokenError, RecursionError) as error:
        raise StatementError(parse_problem(error, text)) from None
    statements = [each for each in parsed if each is not None]
    if not statements:
        raise StatementError(f"there is no statement; {ALLOWED}")
    keep_places(statements, text)
    return statements


class _Compiler:
    def __init__(self, topics: Sequence[str], state: StateRules | None, functions: Collection[str]) -> None:
        self._topics = tuple(topics)
        self._functions = functions
        self._state = state
        self._tables: list[str] = []
        self._read: set[str] = set()
        self._metadata: tuple[str, ...] = ()

    def compile(self, statements: Sequence[exp.Expr]) -> Statement:
        *views, last = statements
        scope: dict[str, Topics] = {}
        ctes: list[exp.CTE] = []
        names = {each.name.lower() for statement in statements for each in statement.find_all(exp.Identifier)}
        stars = [star for each in statements for star in each.find_all(exp.Star) if is_star(star)]
        named = None if stars or self._state is not None else frozenset(names)
        names |= set(self._state.watermarks.values() if self._state is not None else ())
        self._metadata = tuple(name for name in METADATA if name in names)
        for view in views:
            name, query = view_of(view)
            self._check(query)
            self._is_new(name, scope)
            scope[name.name.lower()] = self._query(query, scope)
            ctes.append(exp.CTE(this=query, alias=exp.TableAlias(this=name.copy())))
        if not isinstance(last, exp.Query) or isinstance(last, exp.Subquery):
            raise StatementError(f"{where(last)}the last statement is no SELECT; {ALLOWED}")
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
        updates = self._check_state(last, reads)
        text, places = written(last)
        tables = tuple(self._tables)
        has_state = self._state is not None
        return Statement(text, self._topics, tables, self._metadata, reads, places, has_state, updates, named)

    def _check_state(self, last: exp.Query, reads: Topics) -> bool:
        """Check that state ends some time; tells whether rows replace those of the same groups before."""
        if self._state is None:
            return False
        group = last.args.get("group")
        if self._state.upserts and isinstance(last, exp.Select) and group is not None:
            problem = group_problem(last, self._state)
            if problem is not None:
                raise StatementError(f"{where(group)}{problem}")
            return True
        without = [topic for topic in reads if topic not in self._state.watermarks]
        if without:
            raise StatementError(
                f"{where(group or last)}it keeps state of {without[0]}, and nothing says for how long: set "
                "frazil.watermark to a column and the delay of its records, such as: at 10 seconds; or let the last "
                "SELECT have GROUP BY, with iceberg.tables.upsert-mode-enabled=true"
            )
        return False

    def _check(self, query: exp.Expr) -> None:
        """Refuse every node and function that is not known to be harmless."""
        nodes = list(query.walk())
        for node in nodes:
            part = next((each for each in node.args.values() if self._is_stateful(each)), node)
            if self._needs_state(node, part):
                if self._state is None:
                    raise NeedsState(f"{where(part) or where(node)}{problem_of(node, part)}")
                problem = problem_of_call(node) if isinstance(node, exp.Anonymous) else problem_of_part(node)
            elif isinstance(node, exp.Anonymous) and str(node.this).lower() in self._functions:
                problem = None
            else:
                problem = problem_of(node, part)
            if problem is not None:
                raise StatementError(f"{where(part) or where(node)}{problem}")
        for node in reversed(nodes):
            problem = bound_texts(node)
            if problem is not None:
                raise StatementError(f"{where(node)}{problem}")
            bound_sizes(node)

    def _needs_state(self, node: exp.Expr, part: exp.Expr) -> bool:
        """Whether a node, or the `part` of it that needs several records, is one that state is for."""
        if isinstance(node, exp.Anonymous):
            name = str(node.this).lower()
            return name in AGGREGATES or (name == "window" and (self._state is not None or len(node.expressions) > 2))
        return type(node) in STATE_PARTS or type(part) in STATE_PARTS

    def _is_stateful(self, part: object) -> bool:
        return type(part) in STATEFUL and (self._state is None or type(part) not in STATE_PARTS)

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
            raise StatementError(f"{where(query)}{words(query)} is not allowed in a statement")
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
        for each in nested(select, inner):
            if self._query(each, scope):
                raise StatementError(f"{where(each)}a subquery in an expression cannot read a topic")
        if len(streams) > 1 and self._state is None:
            raise NeedsState(
                f"{where(streams[1])}two topics are joined, which needs their records of all time; join a topic "
                "with a table, or store both and join the tables"
            )
        if not streams:
            return ()
        if self._state is not None:
            if len(streams) < len(sources):
                raise StatementError("a statement with state joins topics, and views of them, with nothing else")
            self._check_joins(joins, [topics[0] for topics in reads])
            for stream in streams:
                self._hide(select, stream)
            return tuple(topic for topics in reads for topic in topics)
        for join in joins:
            check_join(join, is_stream=join.this is streams[0], has_stream=True)
        self._hide(select, streams[0])
        return next(filter(None, reads))

    def _check_joins(self, joins: Sequence[exp.Join], topics: Sequence[str]) -> None:
        """Check joins of topics; `topics` are those of FROM and of each join."""
        times = self._state.watermarks if self._state is not None else {}
        for join, topic in zip(joins, topics[1:], strict=True):
            if (join.method or "").upper() == "NATURAL":
                raise StatementError(f"{where(join.this)}NATURAL JOIN would join by the times too; name columns in ON")
            columns = [times[each].lower() for each in (topics[0], topic) if each in times]
            if len(columns) == 2 and not is_bounded(join, columns):
                raise StatementError(
                    f"{where(join.this)}the join of {topics[0]} and {topic} would keep their records for ever: bound "
                    f"{topic}.{columns[1]} by {topics[0]}.{columns[0]} from both sides in ON, such as: b.at BETWEEN "
                    "a.at AND a.at + INTERVAL 1 HOUR"
                )

    def _source(self, source: exp.Expr, scope: Mapping[str, Topics]) -> Topics:
        """Put the name of Spark's relation in place of a source's; gives the topics that it reads."""
        if isinstance(source, exp.Subquery):
            if source.args.get("alias") is None:
                raise StatementError(f"{where(source)}a subquery in FROM needs a name: FROM (SELECT …) AS name")
            return self._query(source.this, scope)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            raise StatementError(f"{where(source)}FROM reads topics, views and tables only, here it is {words(source)}")
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
            if self._state is not None:
                raise StatementError(
                    f"{where(source)}a statement with state joins no tables, and {table} is one; join its rows in a "
                    "view, or in a connector of their own"
                )
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
        hidden = [*([PLACE] if self._state is None else []), *(self._metadata if is_topic else ())]
        for column in select.expressions:
            star = column.this if isinstance(column, exp.Column) else column
            if not isinstance(star, exp.Star):
                continue
            if isinstance(column, exp.Column) and column.table.lower() != name.name.lower():
                continue
            known = [each.name.lower() for each in star.args.get("except_") or ()]
            more = [exp.column(exp.to_identifier(each, quoted=True)) for each in hidden if each not in known]
            if more:
                star.set("except_", [*(star.args.get("except_") or ()), *more])
        if self._state is not None:
            return
        place = exp.column(exp.to_identifier(PLACE, quoted=True), table=name.copy())
        select.append("expressions", exp.alias_(place, exp.to_identifier(PLACE, quoted=True)))

    def _is_new(self, name: exp.Identifier, scope: Mapping[str, Topics]) -> None:
        if name.name.lower() in scope or name.name in self._topics:
            raise StatementError(f"{where(name)}{name.name} is the name of a topic or another view already")
