"""Times and durations as people write them."""

import re
from datetime import UTC, datetime, timedelta

from frazil.errors import UsageError

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
