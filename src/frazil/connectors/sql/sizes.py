"""Values of a statement that could keep a task busy for hours, or take all of its memory: looked at before that."""

from __future__ import annotations

from sqlglot import exp

from frazil.connectors.sql.checked import checked

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
