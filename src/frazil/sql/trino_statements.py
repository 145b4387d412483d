"""Statements that may go to Trino: those that change no table, no catalog and nobody's rights."""

from __future__ import annotations

from frazil.errors import QueryError
from frazil.sql.statements import READING, Statement, pieces, refused

_WHY = "only statements that change nothing are sent to Trino: SELECT, SHOW, DESCRIBE, EXPLAIN, USE, SET SESSION"
# They change what this connection remembers: names, settings, statements that were checked when they were prepared.
_OF_THE_CONNECTION = ("USE", "RESET", "DEALLOCATE")
_SETTINGS = ("SESSION", "TIME", "PATH")


def reading(sql: str) -> list[Statement]:
    """Statements of a text that Trino may get.

    Raises QueryError when one of them would write, also behind EXPLAIN ANALYZE, PREPARE or EXECUTE IMMEDIATE; nothing
    has run then.
    """
    statements = pieces(sql)
    for statement in statements:
        if not _only_reads(statement):
            raise refused(statement, _WHY)
    return statements


def _only_reads(statement: Statement) -> bool:
    word = statement.keyword
    if word in READING or word in _OF_THE_CONNECTION:
        return True
    if word == "SET":
        return any(token.text.upper().split()[:1] == [kind] for token in statement.words()[:1] for kind in _SETTINGS)
    if word == "EXPLAIN":
        analyzed = _analyzed(statement)
        return analyzed is None or _reads(analyzed)
    if word == "PREPARE":
        tokens = statement.words()
        return len(tokens) > 2 and tokens[1].text.upper() == "FROM" and _reads(statement.rest[tokens[2].start :])
    if word == "EXECUTE":
        tokens = statement.words()
        immediate = bool(tokens) and tokens[0].text.upper() == "IMMEDIATE"
        return not immediate or (len(tokens) > 1 and _reads(tokens[1].text))
    return False


def _reads(sql: str) -> bool:
    try:
        return all(_only_reads(statement) for statement in pieces(sql))
    except QueryError:  # nothing that can be told apart
        return False


def _analyzed(statement: Statement) -> str | None:
    """The statement that EXPLAIN ANALYZE [VERBOSE] runs; None for an EXPLAIN that runs nothing."""
    tokens = statement.words()
    if not tokens or tokens[0].text.upper() != "ANALYZE":
        return None
    at = 2 if len(tokens) > 1 and tokens[1].text.upper() == "VERBOSE" else 1
    return statement.rest[tokens[at].start :] if at < len(tokens) else ""
