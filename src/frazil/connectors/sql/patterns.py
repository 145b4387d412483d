"""Patterns of a statement, and the texts that they are matched with: no record keeps one busy for more than seconds."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from frazil.connectors.sql.checked import checked
from frazil.connectors.sql.functions import LIKES, PATTERNS
from frazil.declare.validators import linear_java_regular_expression
from frazil.text.java_steps import steps_of_like, steps_of_regex

_LONGEST = {1: None, 2: 30_000, 3: 2_000}
"""Characters that a text may have, by the exponent of the steps for a pattern."""
_LONGEST_COMPARED = 10_000


def bound_texts(node: exp.Expr) -> str | None:
    """Put a limit on the length of the texts that a node matches with patterns; tells what is wrong with a pattern."""
    call = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if call == "levenshtein":
        for text in node.expressions[:2]:
            _limit(text, call, _LONGEST_COMPARED)
    found = list(_patterns(node, call))
    name = call or ("rlike" if isinstance(node, exp.RegexpLike) else "LIKE")
    most: int | None = None
    for pattern, escape in found:
        if not (isinstance(pattern, exp.RawString) or (isinstance(pattern, exp.Literal) and pattern.is_string)):
            return f"the pattern for {name} is a text that stands in the statement"
        if escape is None:
            problem = linear_java_regular_expression(pattern.name)
            if problem is not None:
                return f"the regular expression for {name}: {problem}"
        steps = steps_of_regex(pattern.name) if escape is None else steps_of_like(pattern.name, escape)
        if steps not in _LONGEST:
            return f"the pattern for {name}: one record could keep it busy for hours. {_advice(escape, steps)}"
        longest = _LONGEST[steps]
        most = min(filter(None, (most, longest)), default=None)
    if most is not None:
        _limit(node.expressions[0] if call else node.this, name, most)
    return None


def _patterns(node: exp.Expr, call: str) -> Iterator[tuple[exp.Expr, str | None]]:
    """Give the patterns of a node, with their escape for LIKE; None for a regular expression."""
    if isinstance(node, exp.RegexpLike):
        yield node.expression, None
    elif isinstance(node, exp.Like | exp.ILike):
        yield node.expression, node.parent.expression.name if isinstance(node.parent, exp.Escape) else "\\"
    elif call in PATTERNS:
        yield from ((pattern, None) for pattern in node.expressions[PATTERNS[call]])
    elif call in LIKES:
        yield from (
            (pattern, node.expressions[2].name if node.expressions[2:] else "\\") for pattern in node.expressions[1:2]
        )


def _advice(escape: str | None, steps: int | None) -> str:
    if escape is not None:
        return "Write it with fewer %"
    if steps is None:
        return (
            "What it repeats can be divided in several ways, as in (a+)+ or (a|ab)*; repeat single characters: [a-z.]+"
        )
    return "It has too many repetitions that match what is behind them too: write [^,]* for .* where a comma ends it"


def _limit(text: exp.Expr, name: str, most: int) -> None:
    """Let a text that is longer than `most` fail, as a bad value of its record."""

    def is_longer(own: exp.Expr) -> exp.Expr:
        return exp.GT(this=exp.Anonymous(this="length", expressions=[own]), expression=exp.Literal.number(most))

    checked(text, is_longer, f"a text of more than {most:,} characters, which {name} could take hours for")
