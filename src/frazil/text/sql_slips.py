"""Slips of the pen in SQL that cannot be parsed."""

from collections.abc import Sequence

from sqlglot import Token, TokenType
from sqlglot.errors import ParseError

from frazil.text.near import nearest

# Words that are looked for; shorter ones resemble too many names.
_KEYWORDS = (
    *("SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION"),
    *("JOIN", "LEFT", "RIGHT", "INNER", "CROSS", "LIKE", "BETWEEN", "WHEN", "THEN", "ELSE", "VALUES", "CREATE"),
)
_LIKENESS = 0.7


def misspelled(error: ParseError, tokens: Sequence[Token]) -> str:
    """Hint at the keyword that was probably meant: by the word where the parser stopped, the one before, or the first.

    `tokens` are those of the statement. The hint goes behind a message; empty when none of the words is like one.
    """
    place = [(one.get("line"), one.get("col")) for one in error.errors[:1]]
    at = next((index for index, token in enumerate(tokens) if (token.line, token.col) in place), 0)
    for token in (*tokens[max(0, at - 1) : at + 1], *tokens[:1]):
        meant = nearest(token.text, _KEYWORDS, _LIKENESS) if token.token_type == TokenType.VAR else ""
        if meant == token.text.upper():
            return f"; did you mean {meant} BY?" if meant in ("GROUP", "ORDER") else ""
        if meant:
            return f"; did you mean {meant} instead of {token.text}?"
    return ""
