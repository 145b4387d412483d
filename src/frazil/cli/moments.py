"""Times as people write them on a command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from frazil.errors import UsageError

_AGE = re.compile(r"([0-9]{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def point_in_time(text: str, now: datetime) -> datetime:
    """An age before `now`, or a date or time in ISO 8601, which is UTC where it has no zone. Raises UsageError."""
    age = _AGE.fullmatch(text.strip())
    try:
        if age:
            return now - timedelta(seconds=int(age[1]) * _SECONDS[age[2]])
        given = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is no time: expected an age such as 30m, 24h or 7d, or a date or time such as 2026-11-28 or "
            "2026-11-28T10:30:00Z"
        ) from None
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
