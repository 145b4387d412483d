"""Java's regular expressions and replacement texts, as routers and predicates use them."""

from __future__ import annotations

import re
from collections.abc import Callable

_GROUP_NAME = re.compile(r"\\k<([A-Za-z][A-Za-z0-9]*)>|\\.|\(\?<([A-Za-z][A-Za-z0-9]*)>", re.DOTALL)
_REPLACEMENT = re.compile(r"\\(.)|\$\{([A-Za-z][A-Za-z0-9]*)\}|\$([0-9]+)|([\\$])|([^\\$]+)", re.DOTALL)


def compile_java(pattern: str) -> re.Pattern[str]:
    """Compile Java's expression in Python. Raises re.error for one that Python does not know."""
    return re.compile(_GROUP_NAME.sub(_python_name, pattern))


def _python_name(match: re.Match[str]) -> str:
    """Python's writing of a named group or of a reference to one; other escapes stay."""
    if match[1]:
        return f"(?P={match[1]})"
    return f"(?P<{match[2]}>" if match[2] else match[0]


def replacement(template: str, pattern: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
    r"""The function for a replacement text with `$1`, `${name}` and `\$`.

    As in Java `$12` is group 1 and the text `2` when there is no group 12. Raises ValueError for a group that the
    pattern does not have, and for a `$` or a backslash without meaning.
    """
    parts: list[str | int] = []
    for escaped, name, digits, stray, literal in _REPLACEMENT.findall(template):
        if stray:
            raise ValueError(f"character {stray} has no meaning here; write \\{stray} for itself")
        if name:
            if name not in pattern.groupindex:
                raise ValueError(f"No group with name {{{name}}}")
            parts.append(pattern.groupindex[name])
        elif digits:
            length = next((n for n in range(len(digits), 0, -1) if int(digits[:n]) <= pattern.groups), 0)
            if not length:
                raise ValueError(f"No group {digits[0]}")
            parts += [int(digits[:length]), digits[length:]]
        else:
            parts.append(escaped or literal)

    def replace(match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)

    return replace
