"""Checks that are put around values of a statement that could keep a task busy for hours, or take all its memory."""

from collections.abc import Callable, Iterator

from sqlglot import exp

from frazil.connectors.sql.functions import LIKES, PATTERNS
from frazil.declare.validators import linear_java_regular_expression
from frazil.text.java_steps import steps_of_like, steps_of_regex

_VALUE = "frazil_value"


def checked(value: exp.Expr, is_wrong: Callable[[exp.Expr], exp.Expr], said: str | None) -> None:
    """Let a value for which a condition is true fail, as a bad value of its record; without `said` it is NULL."""
    simple = isinstance(value, exp.Column)
    own = value.copy() if simple else exp.column(_VALUE)
    error = exp.null() if said is None else exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(said)])
    case = exp.Case(ifs=[exp.If(this=is_wrong(own.copy()), true=error)], default=own)
    if simple:
        value.replace(case)
        return
    # The value is computed once: it is the only one of a list.
    array = exp.Anonymous(this="array", expressions=[value.copy()])
    each = exp.Lambda(this=case, expressions=[exp.to_identifier(_VALUE)])
    transformed = exp.Anonymous(this="transform", expressions=[array, each])
    value.replace(exp.Bracket(this=transformed, expressions=[exp.Literal.number(0)]))


_LONGEST_NUMBER = 1_000
_LONGEST_WITH_NUMBERS = 30_000
_LARGEST = 1_000_000
_NUMERIC = (exp.Binary, exp.Neg, exp.Literal, exp.Extract)
_NOT_NUMERIC = (exp.DPipe, exp.Connector, exp.Dot)


def bound_sizes(node: exp.Expr) -> None:
    """Let a text that is too long for a DECIMAL fail, and an aggregate of a list that has become too large."""
    call = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DECIMAL:
        named = node.this.name if isinstance(node.this, exp.Column) and isinstance(node.parent, exp.Select) else ""
        _bound_number(node.this, tries=isinstance(node, exp.TryCast))
        if named:  # as Spark does with the cast of a column
            node.replace(exp.alias_(node.copy(), named, quoted=True))
    elif call == "decimal":
        _bound_number(node.expressions[0], tries=False)
    elif call in ("from_json", "from_csv") and "decimal" in _schema(node):
        said = f"a text of more than {_LONGEST_WITH_NUMBERS:,} characters, which {call} could take hours for"
        checked(node.expressions[0], lambda own: _longer(own, _LONGEST_WITH_NUMBERS), said)
    elif call in ("aggregate", "reduce"):
        for merge in node.expressions[2:3]:
            if isinstance(merge, exp.Lambda) and merge.expressions:
                _bound_merged(merge, call)


def _bound_number(value: exp.Expr, *, tries: bool) -> None:
    """Java takes steps that grow with the square of the number of digits."""
    if isinstance(value, _NUMERIC) and not isinstance(value, _NOT_NUMERIC):
        return
    said = f"a text of more than {_LONGEST_NUMBER:,} characters is no DECIMAL"
    checked(value, lambda own: exp.and_(_is("^string", own), _longer(own, _LONGEST_NUMBER)), None if tries else said)


def _bound_merged(merge: exp.Lambda, call: str) -> None:
    """A list of 40 values doubles a text 40 times."""
    said = f"{call} makes a value of more than {_LARGEST:,} characters"
    own = exp.column(merge.expressions[0].copy())
    too_large = exp.and_(_is("^(string|binary|variant)|<", own), _longer(own, _LARGEST))
    error = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(said)])
    body = merge.this
    body.replace(exp.Case(ifs=[exp.If(this=too_large, true=error)], default=body.copy()))


def _is(kind: str, own: exp.Expr) -> exp.Expr:
    """Test for a type, which Spark does while it plans."""
    return exp.RegexpLike(
        this=exp.Anonymous(this="typeof", expressions=[own.copy()]), expression=exp.Literal.string(kind)
    )


def _longer(own: exp.Expr, most: int) -> exp.Expr:
    text = exp.cast(own.copy(), exp.DataType.Type.TEXT)
    return exp.GT(this=exp.Anonymous(this="length", expressions=[text]), expression=exp.Literal.number(most))


def _schema(call: exp.Expr) -> str:
    """Give the schema of from_json as it is written; one that is computed may have anything."""
    given = call.expressions[1] if call.expressions[1:] else None
    if isinstance(given, exp.Literal | exp.RawString):
        return str(given.name).lower()
    return "decimal"


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
