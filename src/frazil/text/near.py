"""Hints for names with a slip of the pen."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """The known name that was probably meant, whatever the case; empty when none is near."""
    by_lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower, 1, likeness)
    return by_lower[near[0]] if near else ""


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str:
    """The nearest name with what stands before it, to go behind a message; empty when none is near."""
    near = nearest(name, known)
    return f"; did you mean {before}{near}?" if near else ""
