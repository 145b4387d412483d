"""Patterns of times: Joda's (format_datetime) and MySQL's (date_format) as those of strftime."""

from __future__ import annotations

import re

from frazil.query.sql.value import offset_minutes, refuse

# Letter and number of repetitions; None stands for any other number.
_JODA: dict[tuple[str, int], str] = {
    ("y", 4): "%Y",
    ("y", 1): "%Y",
    ("y", 2): "%y",
    ("Y", 4): "%Y",
    ("x", 4): "%G",
    ("M", 1): "%-m",
    ("M", 2): "%m",
    ("M", 3): "%b",
    ("M", 4): "%B",
    ("d", 1): "%-d",
    ("d", 2): "%d",
    ("D", 3): "%j",
    ("E", 1): "%a",
    ("E", 2): "%a",
    ("E", 3): "%a",
    ("E", 4): "%A",
    ("e", 1): "%u",
    ("w", 2): "%V",
    ("a", 1): "%p",
    ("H", 1): "%-H",
    ("H", 2): "%H",
    ("h", 1): "%-I",
    ("h", 2): "%I",
    ("m", 1): "%-M",
    ("m", 2): "%M",
    ("s", 1): "%-S",
    ("s", 2): "%S",
    ("S", 3): "%g",
}
_MYSQL = {
    "a": "%a",
    "b": "%b",
    "c": "%-m",
    "d": "%d",
    "e": "%-d",
    "f": "%f",
    "H": "%H",
    "h": "%I",
    "I": "%I",
    "i": "%M",
    "j": "%j",
    "k": "%-H",
    "l": "%-I",
    "M": "%B",
    "m": "%m",
    "p": "%p",
    "r": "%I:%M:%S %p",
    "S": "%S",
    "s": "%S",
    "T": "%H:%M:%S",
    "v": "%V",
    "W": "%A",
    "x": "%G",
    "Y": "%Y",
    "y": "%y",
    "%": "%%",
}


def joda(pattern: str, zone: str) -> str:
    """The strftime pattern of a Joda pattern, for times in `zone`. Raises QueryError for a letter without one."""
    found = ""
    for match in re.finditer(r"(?P<quoted>'(?:[^']|'')*')|(?P<letters>([A-Za-z])\3*)|(?P<other>[^A-Za-z'])", pattern):
        quoted, letters, other = match["quoted"], match["letters"], match["other"]
        if quoted:
            found += (quoted[1:-1].replace("''", "'") or "'").replace("%", "%%")
        elif other:
            found += other.replace("%", "%%")
        elif letters[0] in "Zz":
            found += _zone(letters, zone)
        elif (letters[0], len(letters)) in _JODA:
            found += _JODA[letters[0], len(letters)]
        else:
            refuse(f"{letters!r} in the pattern {pattern!r}")
    return found


def _zone(letters: str, zone: str) -> str:
    minutes = 0 if zone == "UTC" else offset_minutes(zone)
    if letters == "ZZZ" and zone:
        return zone
    if minutes is None or zone == "" or (letters[0] == "z" and zone != "UTC"):
        refuse(f"{letters!r} in a pattern for the zone {zone or 'of a time without one'}")
    if letters[0] == "z":
        return "UTC"
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    return f"{sign}{size // 60:02}{':' if letters == 'ZZ' else ''}{size % 60:02}"


def mysql(pattern: str, zone: str) -> str:
    """The strftime pattern of a MySQL pattern. Raises QueryError for a letter without one."""

    def one(match: re.Match[str]) -> str:
        if match[1] not in _MYSQL:
            refuse(f"%{match[1]} in the pattern {pattern!r}")
        return _MYSQL[match[1]]

    return re.sub(r"%(.)", one, pattern, flags=re.DOTALL)
