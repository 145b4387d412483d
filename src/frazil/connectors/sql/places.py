"""Places in the text of a statement, for what is wrong there: lines and columns, both from 1 on."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError

from frazil.connectors.sql.grammar import SparkAsWritten, WritesAsWritten, spark_text
from frazil.text.sql_slips import misspelled

_PLACE = "place"
_MARK = re.compile("\x02(\\d+):(\\d+)\x03")
_TOKEN_ERROR = re.compile(r"(.+) from \d+:(\d+)")


class _Marking(WritesAsWritten):
    """Writes a mark with its place in front of whatever has one."""

    def sql(self, expression: Any, key: str | None = None, comment: bool = True) -> str:
        text: str = super().sql(expression, key, comment)
        place = expression.meta.get(_PLACE) if isinstance(expression, exp.Expr) and key is None else None
        return f"\x02{place[0]}:{place[1]}\x03{text}" if place else text


def keep_places(statements: Sequence[exp.Expr], text: str) -> None:
    """Note the place of each name and literal of statements that were parsed from `text`; copies keep it."""
    lines = _lines(text)
    for node in (node for statement in statements for node in statement.walk()):
        start = node.meta.get("start")
        if start is not None:
            node.meta[_PLACE] = _place(lines, start)


def _lines(text: str) -> list[int]:
    """Indexes at which lines begin."""
    return [0, *(found.end() for found in re.finditer("\n", text))]


def _place(lines: Sequence[int], at: int) -> tuple[int, int]:
    number = bisect_right(lines, at)
    return number, at - lines[number - 1] + 1


def where(node: exp.Expr) -> str:
    """Line and column of a node, or of the first name or literal in it."""
    places = [each.meta[_PLACE] for each in node.walk() if _PLACE in each.meta]
    return f"{_said(*min(places))}: " if places else ""


def _said(line: int, column: int) -> str:
    return f"line {line}, column {column}"


def written(node: exp.Expr) -> tuple[str, tuple[tuple[int, int, int], ...]]:
    """Write a statement for Spark; also indexes in what is written, each with the line and column that it is from."""
    text = spark_text(node)
    marked = _Marking(dialect=SparkAsWritten(), comments=False, normalize_functions=False).generate(node)
    places, before = [], 0
    for mark in _MARK.finditer(marked):
        places.append((mark.start() - before, int(mark[1]), int(mark[2])))
        before += len(mark[0])
    # A text of the statement that has a mark in it is worth no place.
    return text, tuple(places) if _MARK.sub("", marked) == text else ()


def place_of(places: Sequence[tuple[int, int, int]], index: int) -> str:
    """Tell the place that what stands at an index of what was written is from."""
    at = bisect_left(places, (index,))
    return _said(*places[at][1:]) if at < len(places) else ""


def _tokens(text: str, problem: Mapping[str, Any]) -> list[Token]:
    """The words of the statement of a text that a problem is in."""
    found: list[Token] = []
    for token in SparkAsWritten().tokenize(text):
        if token.token_type is not TokenType.SEMICOLON:
            found.append(token)
        elif (token.line, token.col) < (problem["line"], problem["col"]):
            found = []
        else:
            break
    return found


def parse_problem(error: ParseError | TokenError | RecursionError, text: str, before: int = 0) -> str:
    """Tell in plain words what the parser stumbled over in a text, and where; `before` lines do not count."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, TokenError):
        found = _TOKEN_ERROR.match(str(error.__cause__))
        if found is None:
            return "a comment has no end"
        line, column = _place(_lines(text), int(found[2]))
        return f"{_said(line - before, column)}: {found[1]}"
    first = error.errors[0]
    token = first["highlight"]
    reason = re.sub(r" but got <Token.*", "", first["description"])
    reason = re.sub(r"Required keyword: .* missing for <class.*", "something is missing", reason)
    place = _said(first["line"] - before, first["col"] - len(token) + 1)
    return f"{place}: {reason} near {token!r}{misspelled(error, _tokens(text, first))}"
