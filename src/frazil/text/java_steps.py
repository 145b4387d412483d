"""Growth of the steps that Java's engine takes for a regular expression with the text that it is matched with.

Java goes back to each place where it could have decided otherwise. The bound is an exponent: 2 says that a text of
twice the length takes up to four times the steps. It is one too many at times, never one too few: what repeats has to
be told from what comes behind it by its first character, or counts as another way to divide the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, starmap

import re2

_ATOM = re.compile(
    r"\\Q(.*?)(?:\\E|\Z)|\\[pPxN]\{[^}]*\}|\\x[0-9a-fA-F]{2}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL
)
_OPENING = re.compile(r"\((\?(?:[:=!]|<\w+>|[imsx]*(?:-[imsx]*)?[:)]))?")
_TIMES = re.compile(r"(?:[*+?]|\{(\d+)(,?)(\d*)\})\??")
_CONDITION = re.compile(r"\^|\$|\\[AbBzZG]")
_SAMPLE = [chr(code) for code in range(256)]
_ANY = frozenset(_SAMPLE)
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_MOST_COMPARED = 100
"""Alternatives that are compared with each other."""
_MOST_CHOICES = 8
"""Ways to go on that are not told apart; each doubles the steps."""


class _Exponential(Exception):
    """Steps that grow with 2 to the power of the text's length."""


@dataclass(frozen=True)
class _Char:
    """One character out of a set."""

    chars: frozenset[str]


@dataclass(frozen=True)
class _Repeat:
    """A part that is repeated; `most` is None without an end."""

    part: _Choice
    least: int
    most: int | None


@dataclass(frozen=True)
class _Choice:
    """Alternatives, each of them parts in a row."""

    ways: tuple[tuple[_Char | _Repeat | _Choice, ...], ...]


_Row = tuple["_Char | _Repeat | _Choice", ...]


@dataclass(frozen=True)
class _Behind:
    """Rest behind a part: its exponent, how it can begin, and whether it matches whatever comes."""

    steps: int = 0
    first: frozenset[str] = frozenset()
    is_sure: bool = True


@lru_cache(maxsize=1000)
def steps_of_regex(pattern: str) -> int | None:
    """Give the exponent for finding an expression that RE2 knows too; None when it is exponential."""
    try:
        choice = _Parser(pattern).choice()
        anchored = pattern.startswith(("^", "\\A")) and len(choice.ways) == 1
        return max(1, _before((choice,), _Behind(), [0]).steps + (not anchored))
    except (_Exponential, RecursionError):
        return None


def steps_of_like(pattern: str, escape: str = "\\") -> int:
    """Give the exponent for a pattern of LIKE or ILIKE."""
    parts: list[_Char | _Repeat] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == "%":
            parts.append(_Repeat(_Choice(((_Char(_ANY),),)), 0, None))
        elif letter == "_":
            parts.append(_Char(_ANY))
        else:
            written = next(letters, "") if letter == escape else letter
            parts.append(_Char(frozenset(written.lower() + written.upper())))
    return max(1, _before(tuple(parts), _Behind(), [0]).steps)


class _Parser:
    """Reads an expression that RE2 has taken; what says nothing of a character, as `$`, stands for any."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._blind = bool(re.search(r"\(\?[imsx]*x", pattern)) or not pattern.isascii()
        self._flags = "is" if re.search(r"\(\?[imsx]*i", pattern) else "s"

    def choice(self) -> _Choice:
        ways = [self._row()]
        while self._text[self._at : self._at + 1] == "|":
            self._at += 1
            ways.append(self._row())
        return _Choice(tuple(ways))

    def _row(self) -> _Row:
        parts: list[_Char | _Repeat | _Choice] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            found = self._part()
            times = _TIMES.match(self._text, self._at)
            if times is not None:
                self._at = times.end()
                found = (_Repeat(_Choice((found,)), *_bounds(times)),)
            parts += found
        return tuple(parts)

    def _part(self) -> _Row:
        opening = _OPENING.match(self._text, self._at)
        if opening is not None:
            self._at = opening.end()
            if opening[0].endswith(")"):
                return ()
            inside = self.choice()
            self._at += 1
            return (inside,)
        found = _ATOM.match(self._text, self._at)
        if found is None or re.match(r"\\\d", found[0]):
            raise _Exponential
        self._at = found.end()
        if found[0].startswith("\\Q"):
            return tuple(_Char(self._chars(re.escape(each))) for each in found[1])
        return (_Char(_ANY if _CONDITION.fullmatch(found[0]) else self._chars(found[0])),)

    def _chars(self, atom: str) -> frozenset[str]:
        return _ANY if self._blind else _matched(atom, self._flags)


def _bounds(times: re.Match[str]) -> tuple[int, int | None]:
    if times[1] is None:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[times[0][0]]
    least = int(times[1])
    return least, (int(times[3]) if times[3] else None) if times[2] else least


@lru_cache(maxsize=1000)
def _matched(atom: str, flags: str) -> frozenset[str]:
    try:
        found = re2.compile(f"(?{flags}:{atom})", _OPTIONS)
    except re2.error:
        return _ANY
    # One of no character here is of others, which nothing can be told about.
    return frozenset(each for each in _SAMPLE if found.fullmatch(each)) or _ANY


def _before(row: _Row, behind: _Behind, choices: list[int]) -> _Behind:
    """Add parts in a row to what is behind them; `choices` counts those that double the steps.

    Raises _Exponential.
    """
    for part in reversed(row):
        if isinstance(part, _Char):
            behind = _Behind(behind.steps, part.chars, is_sure=False)
        elif isinstance(part, _Choice):
            if not _distinct(part):
                _choose(choices)
            ways = [_before(way, behind, choices) for way in part.ways]
            first = frozenset[str]().union(*(way.first for way in ways))
            behind = _Behind(max(way.steps for way in ways), first, is_sure=any(way.is_sure for way in ways))
        else:
            behind = _before_repeat(part, behind, choices)
    return behind


def _before_repeat(repeat: _Repeat, behind: _Behind, choices: list[int]) -> _Behind:
    part = repeat.part
    if repeat.most == 1:
        way = _before((part,), behind, choices)
        if repeat.least == 1:
            return way
        if _first((part,)) & behind.first:
            _choose(choices)
        return _Behind(max(way.steps, behind.steps), way.first | behind.first, way.is_sure or behind.is_sure)
    _check_repeated(repeat)
    first = _first((part,))
    inside = _before((part,), _Behind(0, first | behind.first, is_sure=False), choices)
    steps = max(inside.steps, behind.steps)
    if (repeat.least != repeat.most or _varies(part)) and (behind.steps or not behind.is_sure):
        steps = max(steps, 1, behind.steps + bool(_all(part) & behind.first))
    return _Behind(steps, inside.first if repeat.least else first | behind.first, behind.is_sure and not repeat.least)


def _choose(choices: list[int]) -> None:
    choices[0] += 1
    if choices[0] > _MOST_CHOICES:
        raise _Exponential


def _check_repeated(repeat: _Repeat) -> None:
    """Raise _Exponential for a part that can be repeated in several ways over the same text."""
    part = repeat.part
    if _is_nullable((part,)) or not _is_clear(part, _first((part,))):
        raise _Exponential


def _is_clear(part: _Choice, behind: frozenset[str]) -> bool:
    """Whether a text is divided among the parts in one way, with something of `behind` next."""
    return _distinct(part) and all(_row_is_clear(way, behind) for way in part.ways)


def _row_is_clear(row: Sequence[_Char | _Repeat | _Choice], behind: frozenset[str]) -> bool:
    for number, part in enumerate(row):
        rest = tuple(row[number + 1 :])
        following = _first(rest) | (behind if _is_nullable(rest) else frozenset())
        if isinstance(part, _Repeat):
            if part.least != part.most and _all(part.part) & following:
                return False
            again = _first((part.part,)) if part.most is None or part.most > 1 else frozenset[str]()
            if not _is_clear(part.part, following | again):
                return False
        elif isinstance(part, _Choice) and not _is_clear(part, following):
            return False
    return True


def _distinct(choice: _Choice) -> bool:
    """Whether characters at the beginning tell which of the alternatives it is."""
    if len(choice.ways) == 1:
        return True
    if any(map(_is_nullable, choice.ways)):
        return False
    firsts = [_first(way) for way in choice.ways]
    if sum(map(len, firsts)) == len(frozenset[str]().union(*firsts)):
        return True
    return len(choice.ways) <= _MOST_COMPARED and all(starmap(_apart, combinations(choice.ways, 2)))


def _apart(one: _Row, other: _Row) -> bool:
    """Whether no text begins with both, as one of their first characters tells."""
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if not (isinstance(left, _Char) and isinstance(right, _Char)):
            rests = one[number:], other[number:]
            return not any(map(_is_nullable, rests)) and not _first(rests[0]) & _first(rests[1])
        if not left.chars & right.chars:
            return True
    return False


def _first(row: _Row) -> frozenset[str]:
    """Give the characters that parts in a row can begin with."""
    found: frozenset[str] = frozenset()
    for part in row:
        if isinstance(part, _Char):
            return found | part.chars
        inside = part.part if isinstance(part, _Repeat) else part
        found = found.union(*(_first(way) for way in inside.ways))
        if not _is_nullable((part,)):
            break
    return found


def _all(choice: _Choice) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for part in (part for way in choice.ways for part in way):
        if isinstance(part, _Char):
            found |= part.chars
        else:
            found |= _all(part.part if isinstance(part, _Repeat) else part)
    return found


def _is_nullable(row: _Row) -> bool:
    for part in row:
        if isinstance(part, _Char):
            return False
        if isinstance(part, _Repeat) and (part.least == 0 or _is_nullable((part.part,))):
            continue
        if isinstance(part, _Choice) and any(map(_is_nullable, part.ways)):
            continue
        return False
    return True


def _varies(choice: _Choice) -> bool:
    """Whether texts of several lengths match."""
    return (
        any(
            _varies(part.part) or part.least != part.most if isinstance(part, _Repeat) else _varies(part)
            for way in choice.ways
            for part in way
            if not isinstance(part, _Char)
        )
        or len({len(way) for way in choice.ways}) > 1
    )
