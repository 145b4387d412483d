"""Declared functions: `name(types) -> type = text of the embedded engine`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from frazil.query.sql.types import SEVERAL_ZONES, Type, coercible, common_type, decimal, parse_type

_LINE = re.compile(r"(?P<name>\w+)\((?P<params>.*)\) -> (?P<result>\S.*?) = (?P<body>.+)")
Bindings = dict[str, Type]


@dataclass(frozen=True)
class LambdaType:
    """What a function wants where it takes `(x, y) -> ...`."""

    args: tuple[Type, ...]
    result: Type


Parameter = Type | LambdaType


@dataclass(frozen=True)
class Signature:
    """One way to call a function; `body` has `{0}` for an argument and `{all}` for all of them."""

    name: str
    params: tuple[Parameter, ...]
    variadic: bool
    result: Type
    body: str

    def parameters(self, count: int) -> tuple[Parameter, ...] | None:
        """The parameters for a call with so many arguments."""
        if self.variadic:
            repeated = count - len(self.params)
            return None if repeated < -1 else self.params[:-1] + (self.params[-1],) * (repeated + 1)
        return self.params if len(self.params) == count else None


def declared(lines: str) -> dict[str, list[Signature]]:
    """The functions of a text with one signature a line, by name in the order of the lines."""
    found: dict[str, list[Signature]] = {}
    for line in filter(None, map(str.strip, lines.splitlines())):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"not a signature: {line}")
        parts = _split(match["params"])
        variadic = bool(parts) and parts[-1].endswith("...")
        params = tuple(_parameter(part.removesuffix("...")) for part in parts)
        signature = Signature(match["name"], params, variadic, parse_type(match["result"]), match["body"])
        found.setdefault(signature.name, []).append(signature)
    return found


def _parameter(written: str) -> Parameter:
    left, arrow, right = written.partition("=>")
    if not arrow:
        return parse_type(written)
    return LambdaType(tuple(map(parse_type, _split(left.strip("()")))), parse_type(right))


def _split(written: str) -> list[str]:
    """Parts between commas outside parentheses."""
    parts, depth = [""], 0
    for character in written:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def bind(wanted: Type, given: Type, bindings: Bindings) -> bool:
    """Whether a value of the type `given` can be passed; type variables (one capital letter) are bound on the way."""
    if _is_variable(wanted):
        known = bindings.get(wanted.name)
        common = given if known is None else common_type(known, given)
        if common is None or (common.name == "timestamptz" and common.zone == SEVERAL_ZONES):
            return False
        bindings[wanted.name] = common
        return True
    if given.name == "unknown":
        return True
    if wanted.name in ("decimal", "timestamp", "timestamptz") and wanted.name == given.name:
        return True
    if wanted.args:
        pairs = zip(wanted.args, given.args, strict=False)
        return wanted.name == given.name and all(bind(inner, outer, bindings) for inner, outer in pairs)
    return coercible(given, wanted)


def resolved(wanted: Type, bindings: Bindings, given: Type | None = None) -> Type:
    """A type of a signature with its variables replaced; `given` decides digits and zones that it leaves open."""
    if _is_variable(wanted):
        return bindings.get(wanted.name, Type("unknown"))
    if given is not None and given.name == wanted.name and not wanted.args:
        return given
    if wanted.name == "decimal" and not wanted.precision:
        return decimal(38, 0) if given is None else wanted
    if not wanted.args:
        return wanted
    inner = given.args if given is not None and len(given.args) == len(wanted.args) else (None,) * len(wanted.args)
    args = tuple(resolved(arg, bindings, one) for arg, one in zip(wanted.args, inner, strict=True))
    return Type(wanted.name, args, wanted.fields or ("",) * len(args) if wanted.name == "row" else ())


def _is_variable(kind: Type) -> bool:
    return len(kind.name) == 1 and kind.name.isupper()


def shown(signatures: Sequence[Signature]) -> str:
    """The ways to call a function, for a message."""

    def param(kind: Parameter) -> str:
        return "function" if isinstance(kind, LambdaType) else str(kind)

    return " or ".join(f"{s.name}({', '.join(map(param, s.params))})" for s in signatures)
