"""Hints for names with a slip of the pen."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, to go behind a message; empty when none is near."""
    by_lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower, 1)
    return f"; did you mean {by_lower[near[0]]}?" if near else ""
