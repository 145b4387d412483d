"""Functions that are declared: `name(types) -> type = text of the embedded engine`.

One capital letter is a type variable. The text has `{0}` for an argument and `{all}` for all of them; an aggregate's
call, which DISTINCT, FILTER and OVER of the statement belong to, is between U+0001 and U+0002 if it is not all of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from frazil.errors import QueryError
from frazil.sql.translation.types import Type, coercible, common_type, parse_type
from frazil.sql.translation.value import OTHER_ENGINE, Value, coerce

_LINE = re.compile(r"(?P<name>\w+)\((?P<params>.*)\) -> (?P<result>\S.*?) = (?P<body>.+)")
_HOLE = re.compile(r"\{(\d+|all)\}")


@dataclass(frozen=True)
class Signature:
    """Way to call a function."""

    name: str
    params: tuple[Type, ...]
    variadic: bool
    result: Type
    body: str

    def parameters(self, count: int) -> tuple[Type, ...]:
        """The parameters for a call with so many arguments."""
        return self.params + self.params[-1:] * max(0, count - len(self.params)) if self.variadic else self.params


def declared(lines: str) -> dict[str, list[Signature]]:
    """The functions of a text with one signature a line, by name in the order of the lines."""
    found: dict[str, list[Signature]] = {}
    for line in filter(None, map(str.strip, lines.splitlines())):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"not a signature: {line}")
        # commas inside parentheses belong to a type
        parts = [part.strip() for part in re.split(r",(?![^(]*\))", match["params"]) if part.strip()]
        params = tuple(parse_type(part.removesuffix("...")) for part in parts)
        variadic = match["params"].endswith("...")
        signature = Signature(match["name"], params, variadic, parse_type(match["result"]), match["body"])
        found.setdefault(signature.name, []).append(signature)
    return found


def applied(signatures: Sequence[Signature], values: Sequence[Value]) -> tuple[str, Type, list[Value]]:
    """Text and type of a call, and its arguments as it takes them. Raises QueryError where no signature fits."""
    fitting = []
    for signature in signatures:
        bindings: dict[str, Type] = {}
        params = signature.parameters(len(values))
        if len(params) == len(values) and all(_bind(p, v.type, bindings) for p, v in zip(params, values, strict=True)):
            changed = sum(p.name not in (v.type.name, "T", "U") for p, v in zip(params, values, strict=True))
            fitting.append((changed, signature, params, bindings))
    name = signatures[0].name
    if not fitting:
        given = ", ".join(str(value.type) for value in values)
        known = " or ".join(f"{name}({', '.join(map(str, s.params))})" for s in signatures)
        raise QueryError(f"{name}({given}) is not known here; there is {known}; or {OTHER_ENGINE}")
    _, chosen, params, bindings = min(fitting, key=lambda fit: fit[0])
    done = [coerce(value, _resolved(p, bindings, value.type)) for value, p in zip(values, params, strict=True)]
    texts = {"all": ", ".join(value.sql for value in done)}
    body = _HOLE.sub(lambda hole: texts.get(hole[1]) or done[int(hole[1])].sql, chosen.body)
    return body, _resolved(chosen.result, bindings), done


def _bind(wanted: Type, given: Type, bindings: dict[str, Type]) -> bool:
    """Whether a value of the type `given` can be passed; type variables are bound on the way."""
    if _is_variable(wanted):
        known = bindings.get(wanted.name)
        common = given if known is None else common_type(known, given)
        bindings[wanted.name] = common or given
        return common is not None
    if wanted.args and given.name != "unknown":
        pairs = zip(wanted.args, given.args, strict=False)
        return wanted.name == given.name and all(_bind(inner, outer, bindings) for inner, outer in pairs)
    return coercible(given, wanted)


def _resolved(wanted: Type, bindings: dict[str, Type], given: Type | None = None) -> Type:
    """A type of a signature with its variables replaced."""
    if _is_variable(wanted):
        return bindings.get(wanted.name, Type("unknown"))
    inner = given.args if given is not None and len(given.args) == len(wanted.args) else (None,) * len(wanted.args)
    return Type(wanted.name, tuple(_resolved(arg, bindings, one) for arg, one in zip(wanted.args, inner, strict=True)))


def _is_variable(kind: Type) -> bool:
    return len(kind.name) == 1 and kind.name.isupper()
