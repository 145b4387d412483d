"""Java's regular expressions and replacement texts, as routes, routers and predicates use them.

RE2 matches in a time that grows with the text alone. What it does not know (references to groups, lookarounds but those
at the beginning, possessive repetitions) Python's engine matches, which may take any time: that is for names of topics,
never for what is in records.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import re2

_GROUP_NAME = re.compile(r"\\k<([A-Za-z][A-Za-z0-9]*)>|\\.|\(\?<([A-Za-z][A-Za-z0-9]*)>", re.DOTALL)
_REPLACEMENT = re.compile(r"\\(.)|\$\{([A-Za-z][A-Za-z0-9]*)\}|\$([0-9]+)|([\\$])|([^\\$]+)", re.DOTALL)
_CLASS = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_LOOKAHEAD = re.compile(rf"\(\?([=!])((?:\\.|{_CLASS}|[^()\[\\]|\((?:\\.|{_CLASS}|[^()\[\\])*\))*)\)", re.DOTALL)
"""A lookahead with groups up to one level deep."""
_PARTS = re.compile(
    rf"\\Q.*?(?:\\E|\Z)|\\[pPxN]\{{[^}}]*\}}|(?P<byte>\\C)|\\.|(?P<class>{_CLASS})"
    r"|(?P<brace>\{(?:(?P<least>0|[1-9][0-9]{0,7})(?P<comma>,(?P<most>0|[1-9][0-9]{0,7})?)?\})?)"
    r"|\(\?(?:[:=!>]|<[=!]|<(?P<name>[A-Za-z][A-Za-z0-9]*)>|[imsx]*(?:-[imsx]*)?[:)])?",
    re.DOTALL,
)
"""Parts of an expression that the engines and Java may understand in different ways.

RE2 reads other braces as texts.
"""
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


class Match(Protocol):
    """Groups that a pattern has found, by number."""

    def __getitem__(self, group: int, /) -> str | None: ...


class JavaRegex:
    """A compiled expression. `is_linear`: it matches in a time that grows with the text alone."""

    def __init__(self, pattern: str) -> None:
        """Raises re.error for an expression that neither engine knows, or that means something else to them."""
        _check(pattern)
        linear = _linear(pattern)
        self.is_linear = linear is not None
        self._conditions = linear[0] if linear is not None else []
        self._pattern: Any = linear[1] if linear is not None else _python(pattern)

    @property
    def groups(self) -> int:
        """Count of the groups."""
        return int(self._pattern.groups)

    @property
    def names(self) -> Mapping[str, int]:
        """Numbers of the groups with a name."""
        return dict(self._pattern.groupindex)

    def matches(self, text: str) -> bool:
        """Whether the expression matches all of a text."""
        if any((condition.match(text) is None) is wanted for condition, wanted in self._conditions):
            return False
        return self._pattern.fullmatch(text) is not None

    def replaced_first(self, text: str, replace: Callable[[Match], str]) -> str:
        """Replace the first match in a text that the expression matches as a whole."""
        return str(self._pattern.sub(replace, text, count=1))


def compile_java(pattern: str) -> JavaRegex:
    """Compile Java's expression. Raises re.error as `JavaRegex` does."""
    return JavaRegex(pattern)


def _check(pattern: str) -> None:
    """Raise re.error for what Java refuses or reads in another way, and an engine would take."""
    names: set[str] = set()
    for part in _PARTS.finditer(pattern):
        problem = _problem(part)
        if part["name"] is not None and part["name"] in names:
            problem = f"named capturing group <{part['name']}> is already defined"
        if problem:
            raise re.error(problem, pattern, part.start())
        names.add(part["name"])


def _problem(part: re.Match[str]) -> str:
    if part["brace"] and (part["least"] is None or (part["most"] and int(part["least"]) > int(part["most"]))):
        return "illegal repetition, or one of 100,000,000 times and more; a brace for itself is written \\{"
    if part["class"]:
        inside = re.sub(r"\\.", "", part["class"][1:], flags=re.DOTALL)
        if "&&" in inside:
            return "intersections of character classes (&&) are not supported"
        if "[" in inside:
            return "character classes inside of others are not supported; a bracket for itself is written \\["
    if part["byte"]:
        return "illegal escape sequence"
    return "unknown kind of group, or flags other than i, m, s and x" if part[0] == "(?" else ""


def _linear(pattern: str) -> tuple[list[tuple[Any, bool]], Any] | None:
    """Compile with RE2: conditions on how a text begins, with their outcome, and what has to match all of it."""
    conditions: list[tuple[Any, bool]] = []
    rest = pattern
    try:
        while found := _LOOKAHEAD.match(rest := rest.removeprefix("^") if rest.startswith("^(?") else rest):
            conditions.append((re2.compile(found[2], _OPTIONS), found[1] == "="))
            rest = rest[found.end() :]
        whole = re2.compile(rest, _OPTIONS)
    except re2.error:
        return None
    return None if any(condition.groups for condition, _ in conditions) else (conditions, whole)


def _python(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_GROUP_NAME.sub(_python_name, pattern), re.ASCII)
    except (OverflowError, RecursionError) as error:
        raise re.error("it is too large", pattern, 0) from error


def _python_name(match: re.Match[str]) -> str:
    """Python's writing of a named group or of a reference to one; other escapes stay."""
    if match[1]:
        return f"(?P={match[1]})"
    return f"(?P<{match[2]}>" if match[2] else match[0]


def replacement(template: str, pattern: JavaRegex) -> Callable[[Match], str]:
    r"""The function for a replacement text with `$1`, `${name}` and `\$`.

    As in Java `$12` is group 1 and the text `2` when there is no group 12. Raises ValueError for a group that the
    pattern does not have, and for a `$` or a backslash without meaning.
    """
    parts: list[str | int] = []
    for escaped, name, digits, stray, literal in _REPLACEMENT.findall(template):
        if stray:
            raise ValueError(f"character {stray} has no meaning here; write \\{stray} for itself")
        if name:
            if name not in pattern.names:
                raise ValueError(f"No group with name {{{name}}}")
            parts.append(pattern.names[name])
        elif digits:
            length = next((n for n in range(len(digits), 0, -1) if int(digits[:n]) <= pattern.groups), 0)
            if not length:
                raise ValueError(f"No group {digits[0]}")
            parts += [int(digits[:length]), digits[length:]]
        else:
            parts.append(escaped or literal)

    def replace(match: Match) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)

    return replace
