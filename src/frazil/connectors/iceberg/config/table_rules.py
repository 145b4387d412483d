"""Tables that an Iceberg sink writes, and the records that they get: rules between keys."""

import os
from collections.abc import Mapping

from frazil.declare.definition import Parsed, invalid_value
from frazil.declare.placeholders import has_placeholder
from frazil.declare.validators import linear_java_regular_expression
from frazil.pipeline.route import ALLOWED, TOPIC, Route

_MAIN_BRANCH = "main"
_TABLES = "iceberg.tables"
_DYNAMIC = "iceberg.tables.dynamic-enabled"
_FIELD = "iceberg.tables.route-field"
_PATTERN = "frazil.tables.topic-pattern"
MOST_NEW = "frazil.tables.max.new"
_OF_TABLE = ("cdc-mode", "commit-branch", "id-columns", "partition-by", "route-regex")


def check_tables(parsed: Parsed) -> None:
    """Errors for keys that contradict each other, warnings for those that concern no table."""
    tables, dynamic = parsed.items(_TABLES), parsed.flag(_DYNAMIC)
    field, pattern = parsed.text(_FIELD), parsed.text(_PATTERN)
    if tables and (dynamic or pattern):
        parsed.fail(_TABLES, "Cannot specify both static and dynamic table names")
    elif pattern and field:
        parsed.fail(_PATTERN, f"Cannot name tables after topics and by {_FIELD}: remove one of {_PATTERN}, {_FIELD}")
    elif dynamic and not field and not pattern:
        parsed.fail(_FIELD, "Must specify a route field if using dynamic table names")
    elif not tables and not dynamic and not pattern:
        parsed.fail(_TABLES, "Must specify table name(s)")
    for name in (ALLOWED, MOST_NEW) if not (dynamic or pattern) else ():
        if name in parsed.config:
            parsed.warn(f"{name} has no effect here: the records do not name their tables")
    if pattern and not has_placeholder(pattern):
        _check_pattern(parsed, pattern)
    for suffix in _OF_TABLE:
        for table in parsed.members(f"iceberg.table.*.{suffix}") if tables else ():
            if table not in tables:
                parsed.warn(f"iceberg.table.{table}.{suffix} has no effect here: {table} is not in {_TABLES}")
    _check_regexes(parsed, tables, field)


def _check_pattern(parsed: Parsed, pattern: str) -> None:
    if not all(pattern.replace(TOPIC, "a.b").rpartition(".")[::2]):
        reason = f"Write it as namespace.{TOPIC}; {TOPIC} alone is for topics that are named as the tables are"
        parsed.fail(_PATTERN, invalid_value(_PATTERN, pattern, reason))


def _check_regexes(parsed: Parsed, tables: tuple[str, ...], field: str) -> None:
    regexes = parsed.members("iceberg.table.*.route-regex")
    for table, regex in regexes.items():
        name = f"iceberg.table.{table}.route-regex"
        reason = None if has_placeholder(regex) else linear_java_regular_expression(regex)
        if reason is not None:
            parsed.fail(name, invalid_value(name, regex, reason))
        elif not field:
            parsed.warn(f"{name} has no effect here: without {_FIELD} every record goes to every table")
        elif not tables:
            parsed.warn(f"{name} has no effect here: the value of {_FIELD} is the table's name")
    for table in tables if field else ():
        if not regexes.get(table):
            parsed.warn(f"{table} gets no records: {_FIELD} is set, and iceberg.table.{table}.route-regex is not")


def route(parsed: Parsed) -> Route | None:
    """The rule by which records find their tables; None when every record goes to every table."""
    pattern, field, allowed = parsed.text(_PATTERN), parsed.text(_FIELD), parsed.text(ALLOWED)
    if pattern:
        return Route(topic_pattern=pattern, allowed=allowed)
    if not field:
        return None
    path = tuple(field.split("."))
    if parsed.flag(_DYNAMIC):
        return Route(path, dynamic=True, allowed=allowed)
    regexes = parsed.members("iceberg.table.*.route-regex")
    return Route(path, tuple((table, regexes[table]) for table in parsed.items(_TABLES) if regexes.get(table)))


def default_branch(parsed: Parsed) -> str:
    """The branch of tables that have none of their own."""
    return parsed.text("iceberg.tables.default-commit-branch") or _MAIN_BRANCH


def branches(parsed: Parsed, tables: tuple[str, ...]) -> Mapping[str, str]:
    """The branch of each table, and of others that have one of their own."""
    own = {table: text.strip() for table, text in parsed.members("iceberg.table.*.commit-branch").items()}
    default = default_branch(parsed)
    named = {table: branch for table, branch in own.items() if branch and not tables}
    return named | {table: own.get(table) or default for table in tables}


def commit_threads(parsed: Parsed) -> int:
    """Number of tables that are read or committed at the same time."""
    return parsed.number("iceberg.control.commit.threads") or 2 * (os.cpu_count() or 1)
