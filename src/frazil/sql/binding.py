"""Named parameters of a statement: `:name` stands for a value, never for a piece of SQL."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.trino import Trino

from frazil.errors import QueryError
from frazil.sql.parameters import Value
from frazil.sql.statements import tokenize

_DIALECT = Trino()


def bind(sql: str, values: Mapping[str, Value]) -> tuple[str, set[str]]:
    """Put literals in the place of parameters: the text, and the names that occurred.

    A value becomes one literal of its type, whatever characters it has; `:name` inside quotes or comments is text.
    Raises QueryError when a parameter has no value and for a text that is no SQL.
    """
    parts: list[str] = []
    used: set[str] = set()
    position = 0
    tokens = tokenize(sql)
    for before, colon, name in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if not _is_parameter(before, colon, name):
            continue
        word = sql[name.start : name.end + 1]
        if word not in values:
            raise QueryError(f"line {colon.line}: :{word} has no value; give it one with --param {word}=VALUE")
        # the spaces keep a literal apart from what it touches: a minus before `-1` would begin a comment
        parts += [sql[position : colon.start], " ", literal(values[word]), " "]
        used.add(word)
        position = name.end + 1
    return "".join(parts) + sql[position:], used


def literal(value: Value) -> str:
    """A value as a literal in Trino's dialect; a time without zone counts as UTC."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value!r}E0" if "e" not in repr(value) else repr(value).upper()
    if isinstance(value, Decimal):
        return f"DECIMAL '{value:f}'"
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)
        return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(' ', 'microseconds')} UTC'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    text: str = exp.Literal.string(value).sql(_DIALECT)
    return text


def _is_parameter(before: Token | None, colon: Token, name: Token) -> bool:
    """A colon with a word right behind it; after a text it is the colon of a JSON object."""
    return (
        colon.token_type == TokenType.COLON
        and name.start == colon.end + 1
        and re.fullmatch(r"[A-Za-z_]\w*", name.text) is not None
        and name.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
        and (before is None or before.token_type != TokenType.STRING)
    )
