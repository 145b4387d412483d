"""Which table a verb means."""

from __future__ import annotations

from collections.abc import Callable

from frazil.errors import UsageError


def placed(table: str, namespace: str) -> tuple[str, str]:
    """Namespace and name: what is before the last dot, else `namespace`."""
    before, dot, name = table.rpartition(".")
    return (before, name) if dot and before.lower() != namespace.lower() else (namespace, name)


def known_table(table: str, namespace: str, tables: Callable[[str], list[str]]) -> tuple[str, str]:
    """Namespace and name of a table that is there, whatever the case of its letters; `tables` lists a namespace.

    Raises UsageError for one that is not there.
    """
    place, name = placed(table, namespace)
    known = tables(place)
    found = [candidate for candidate in known if candidate.lower() == name.lower()]
    if not found:
        raise UsageError(f"there is no table {name} in {place}; known tables: {', '.join(known) or 'none'}")
    return place, found[0]
