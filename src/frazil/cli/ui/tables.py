"""Names of tables as verbs take them."""

from __future__ import annotations

from collections.abc import Callable

from frazil.errors import UsageError


def known_table(table: str, namespace: str, tables: Callable[[str], list[str]]) -> tuple[str, str]:
    """Namespace and name of a table that is there, whatever the case of its letters.

    The namespace is what is before the last dot, else `namespace`; `tables` lists those of one.

    Raises UsageError for one that is not there.
    """
    before, dot, name = table.rpartition(".")
    place = before if dot and before.lower() != namespace.lower() else namespace
    known = tables(place)
    found = [candidate for candidate in known if candidate.lower() == name.lower()]
    if not found:
        raise UsageError(f"there is no table {name} in {place}; known tables: {', '.join(known) or 'none'}")
    return place, found[0]
