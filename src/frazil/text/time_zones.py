"""Time zones by the ids that Joda-Time knows: those of the tz database, and offsets such as `+05:30`."""

import datetime as dt
import re
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?([0-5]\d))?")
_UTC = ("UTC", "UT", "GMT", "Z")


@lru_cache(maxsize=64)
def time_zone(name: str) -> dt.tzinfo:
    """Find the zone of an id or an offset.

    Raises ValueError, with Joda's text, for a name that stands for none.
    """
    if name in _UTC:
        return dt.UTC
    match = _OFFSET.fullmatch(name)
    if match and int(match[2]) <= 23:
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        return dt.timezone(dt.timedelta(minutes=minutes if match[1] == "+" else -minutes))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"The datetime zone id '{name}' is not recognised") from None
