"""Date patterns of Java's `SimpleDateFormat` and of Joda-Time: quotes, names, numbers of a calendar."""

import datetime as dt
import re
from collections.abc import Callable, Iterator

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NUMBERS: dict[str, Callable[[dt.datetime], int]] = {
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.timetuple().tm_yday,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
}
"""The number that each letter stands for."""

_RUN = re.compile(r"([A-Za-z])\1*")


def runs(pattern: str) -> Iterator[tuple[str, str]]:
    """Runs of a letter as (letter, run), and literals as ("", text); two single quotes are one."""
    position, quoted = 0, False
    while position < len(pattern):
        char = pattern[position]
        if char == "'":
            if pattern.startswith("''", position):
                yield "", "'"
                position += 1
            else:
                quoted = not quoted
            position += 1
        elif not quoted and (match := _RUN.match(pattern, position)):
            yield char, match[0]
            position = match.end()
        else:
            yield "", char
            position += 1
