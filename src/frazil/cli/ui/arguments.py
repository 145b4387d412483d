"""Times, tables and settings as people write them on a command line."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from frazil.errors import UsageError
from frazil.text.near import did_you_mean

_AGO = re.compile(r"(\d{1,6})(s|m|h|d|w)")
_FIRST_YEAR = 1970
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def point_in_time(text: str, now: datetime) -> datetime:
    """A time in UTC: an age like `90s`, `30m`, `24h`, `7d` or `2w` before `now`, or a date or time in ISO 8601.

    A time without a zone is UTC, whatever the zone of the machine. Raises UsageError for anything else, and for a time
    before 1970.
    """
    found: datetime | None
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago:
            found = now.astimezone(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            given = datetime.fromisoformat(text.strip())
            found = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    except (ValueError, OverflowError):
        found = None
    if found is None or found.year < _FIRST_YEAR:
        raise UsageError(
            f"{text} is not a time; write an age such as 30m, 24h or 7d, or a date or time from 1970 on such as "
            "2026-11-28 or 2026-11-28T10:30:00Z (UTC where no zone is given)"
        )
    return found


def seconds(text: str) -> float:
    """Seconds of a duration such as `90`, `90s`, `10m` or `2h`. Raises UsageError for anything else."""
    found = _AGO.fullmatch(text.strip())
    if found:
        return timedelta(**{_UNITS[found[2]]: int(found[1])}).total_seconds()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text.strip()):
        return float(text)
    raise UsageError(f"{text} is not a duration; write seconds, or 90s, 10m, 2h")


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
