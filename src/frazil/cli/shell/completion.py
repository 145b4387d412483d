"""Completions of the Tab key in the shell: tables, columns, fields of rows, functions, keywords, commands."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError

from frazil.environment.extras import extra
from frazil.errors import FrazilError
from frazil.sql.names import METADATA_TABLES
from frazil.sql.result import Result

with extra("shell"):
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

_KEYWORDS = """
ALL AND ANY AS ASC AT BETWEEN BY CASE CAST CATALOGS COLUMNS CROSS CUBE CURRENT_DATE CURRENT_TIMESTAMP DATE DAY DESC
DESCRIBE DISTINCT ELSE END ESCAPE EXCEPT EXISTS EXPLAIN FALSE FETCH FILTER FIRST FOLLOWING FOR FROM FULL GROUP
GROUPING HAVING HOUR IN INNER INTERSECT INTERVAL IS JOIN LAST LATERAL LEFT LIKE LIMIT MINUTE MONTH NOT NULL NULLS
OF OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING RANGE RECURSIVE RIGHT ROLLUP ROW ROWS SCHEMAS SECOND SELECT
SETS SHOW TABLE TABLES THEN TIME TIMESTAMP TRUE TRY_CAST UNBOUNDED UNION UNNEST USING VALUES VERSION WHEN WHERE
WINDOW WITH WITHIN YEAR ZONE
"""
_FUNCTIONS = """
abs any_match approx_distinct approx_percentile arbitrary array_agg array_distinct array_join avg bool_and bool_or
cardinality ceil coalesce concat contains count count_if cume_dist current_timezone date date_add date_diff
date_format date_trunc day day_of_week dense_rank element_at every filter first_value floor format
format_datetime from_iso8601_timestamp from_unixtime greatest histogram hour if json_extract json_extract_scalar
json_format json_parse lag last_value lead least length lower ltrim map_agg map_entries map_filter map_keys
map_values max max_by min min_by minute mod month ntile nullif percent_rank power rank reduce regexp_extract
regexp_like regexp_replace replace reverse round row_number rtrim second slice split split_part sqrt starts_with
stddev strpos substr sum to_unixtime transform trim try upper url_extract_host variance week year
"""

KEYWORDS = tuple(_KEYWORDS.split())
FUNCTIONS = tuple(_FUNCTIONS.split())


_NAME = r'(?:"[^"]+"|\w+)'
_WORD = re.compile(rf'(?P<qualifiers>(?:{_NAME}\.)*)(?P<word>"[^"]*|[\w$]*)$')
_WANTS_TABLE = re.compile(r"\b(?:FROM|JOIN|DESCRIBE|DESC|TABLE|IN)\s+$", re.IGNORECASE)
_READS = re.compile(
    rf"\b(?:FROM|JOIN|,)\s+(?P<path>{_NAME}(?:\.{_NAME})*)(?:\s+(?:AS\s+)?(?P<alias>\w+))?", re.IGNORECASE
)
_PLAIN = re.compile("[a-z_][a-z0-9_]*")


class SqlCompleter(Completer):
    """Completes with names that `ask`, a function that answers SHOW statements, tells; each is asked for once.

    Names that cannot be had are not offered: the statement that needs them says why. `commands` are the shell's own
    words with what may follow each: the word `tables`, or the values themselves.
    """

    def __init__(self, ask: Callable[[str], Result], namespace: str, commands: dict[str, Sequence[str] | None]) -> None:
        self._ask = ask
        self._namespace = namespace
        self._commands = commands
        self._tables: list[str] | None = None
        self._columns: dict[str, dict[str, str]] = {}

    def forget(self) -> None:
        """Ask again for all names when they are needed next."""
        self._tables = None
        self._columns.clear()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        if before.startswith("\\"):
            yield from self._of_command(before)
            return
        found = _WORD.search(before)
        if found is None or before.count("'") % 2:  # inside a text
            return
        word = found["word"]
        qualifiers = [part.strip('"') for part in re.findall(_NAME, found["qualifiers"])]
        if qualifiers:
            names = self._inside(qualifiers, document.text)
        elif _WANTS_TABLE.search(before[: found.start()]):
            names = [*self._known_tables(metadata="$" in word), self._namespace]
        else:
            tables = dict.fromkeys(_sources(document.text).values())
            names = list(dict.fromkeys(column for table in tables for column in self._known_columns(table)))
            names += self._known_tables() if not tables else []
        yield from _matching(word, names, quote=True)
        if not qualifiers and not word.startswith('"') and word:
            yield from _matching(word, [f"{name}(" for name in FUNCTIONS])
            yield from _matching(word, [name.lower() for name in KEYWORDS] if word.islower() else KEYWORDS)

    def _of_command(self, before: str) -> Iterator[Completion]:
        command, space, rest = before.partition(" ")
        if not space:
            yield from _matching(command, list(self._commands))
            return
        values = self._commands.get(command)
        if values is not None:
            yield from _matching(rest.strip(), self._known_tables() if "tables" in values else values)

    def _inside(self, qualifiers: Sequence[str], text: str) -> list[str]:
        """Names that may follow `table.`, `alias.`, `schema.` or `column.`"""
        sources = _sources(text)
        first, *deeper = [part.lower() for part in qualifiers]
        if first == self._namespace.lower() and not deeper:
            return self._known_tables()
        if first in sources or first in (table.lower() for table in self._known_tables()):
            columns = self._known_columns(sources.get(first, first))
        else:
            deeper = [first, *deeper]
            columns = {name: kind for table in sources.values() for name, kind in self._known_columns(table).items()}
        for name in deeper:
            kind = next((kind for column, kind in columns.items() if column.lower() == name), "")
            columns = _fields(kind)
        return list(columns)

    def _known_tables(self, *, metadata: bool = False) -> list[str]:
        if self._tables is None:
            names = [str(row[0]) for row in self._rows("SHOW TABLES")]
            self._tables = names or None
        tables = self._tables or []
        return [f"{table}${name}" for table in tables for name in METADATA_TABLES] if metadata else tables

    def _known_columns(self, table: str) -> dict[str, str]:
        """Types by name of a table's columns."""
        if table not in self._columns:
            quoted = exp.to_identifier(table, quoted=True).sql("trino")
            described = {str(row[0]): str(row[1]) for row in self._rows(f"SHOW COLUMNS FROM {quoted}")}
            if not described:
                return {}
            self._columns[table] = described
        return self._columns[table]

    def _rows(self, statement: str) -> Sequence[tuple[object, ...]]:
        try:
            return self._ask(statement).rows
        except FrazilError:
            return []


def _sources(text: str) -> dict[str, str]:
    """Tables that a statement reads, by what its columns may be qualified with, in lower case."""
    found = {}
    for match in _READS.finditer(text):
        table = re.findall(_NAME, match["path"])[-1].strip('"')
        found[table.lower()] = table
        alias = match["alias"]
        if alias and alias.upper() not in KEYWORDS:
            found[alias.lower()] = table
    return found


def _fields(kind: str) -> dict[str, str]:
    """Types by name of the fields of a row type."""
    try:
        parsed = exp.DataType.build(kind, dialect="trino") if kind else None
    except SqlglotError:
        parsed = None
    if parsed is None or parsed.this != exp.DType.STRUCT:
        return {}
    return {field.name: field.args["kind"].sql("trino") for field in parsed.expressions}


def _matching(word: str, names: Iterable[str], *, quote: bool = False) -> Iterator[Completion]:
    """Names that begin like `word`, whatever their case; quoted where SQL needs it."""
    start = word.removeprefix('"').lower()
    for name in names:
        if name.lower().startswith(start):
            text = f'"{name}"' if quote and (word.startswith('"') or not _PLAIN.fullmatch(name)) else name
            yield Completion(text, start_position=-len(word))
