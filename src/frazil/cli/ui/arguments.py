"""Tables and settings as people write them on a command line."""

from collections.abc import Callable, Iterable

from frazil.errors import UsageError
from frazil.text.near import did_you_mean


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
        near = did_you_mean(name, known, f"{place}.")
        raise UsageError(f"there is no table {name} in {place}{near}; known tables: {', '.join(known) or 'none'}")
    return place, found[0]


def keys_and_values(texts: Iterable[str], state: str) -> dict[str, str]:
    """Read KEY=VALUE of several --set. Raises UsageError, which ends with `state`, for any other text."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key.strip()):
            raise UsageError(f"--set {text}: expected KEY=VALUE. {state}")
        found[key.strip()] = value
    return found
