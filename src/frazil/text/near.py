"""Hints for names with a slip of the pen."""

from collections.abc import Iterable
from difflib import get_close_matches

_LIKE_NAMES = 0.7
"""More than of keys: names of topics, tables and connectors are short, and less alike are others."""


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """The known name that was probably meant, whatever the case; empty when none is near."""
    by_lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower, 1, likeness)
    return by_lower[near[0]] if near else ""


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str:
    """The nearest name with what stands before it, to go behind a message; empty when none is near."""
    near = nearest(name, known, _LIKE_NAMES)
    return f"; did you mean {before}{near}?" if near else ""


def nearest_class(name: str, known: Iterable[str]) -> str:
    """The full name of the class that was probably meant; empty when none is.

    At most about two letters of the last part differ: many end in the same word.
    """
    by_simple: dict[str, list[str]] = {}
    for full in known:
        by_simple.setdefault(_simple(full), []).append(full)
    simple = _simple(name)
    near = nearest(simple, by_simple, 1 - 1.2 / max(len(simple), 2))
    return nearest(name, by_simple[near], 0) if near else ""


def class_not_found(name: str, known: Iterable[str]) -> str:
    """Kafka Connect's text about a class that it does not have, with the one that was probably meant."""
    near = nearest_class(name, known)
    return f"Class {name} could not be found.{f' Did you mean {near}?' if near else ''}"


def _simple(name: str) -> str:
    return name.rpartition(".")[2]
