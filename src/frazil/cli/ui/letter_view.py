"""Prints dead letters."""

from __future__ import annotations

import base64
import heapq
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import typer

from frazil.cli.ui.output import Output, as_text, show_table
from frazil.pipeline.letters.letter import Letter, described
from frazil.sql.value_text import byte_lines, json_text, printable
from frazil.text.amounts import counted
from frazil.text.credentials import redact_bytes, redact_header, redact_text
from frazil.text.instants import shown

if TYPE_CHECKING:
    from frazil.connectors.sink import Outcome

_ALIKE = 3
_OPEN = ("waits", "fails", "never")
_SHOWN = 16_384
"""Bytes of a key, header or value that are shown to people."""


@dataclass
class Group:
    """Dead letters of one topic, connector and kind of reason; times are epoch milliseconds."""

    example: str
    count: int = 0
    first: int = sys.maxsize
    last: int = 0


@dataclass
class Groups:
    """Open dead letters by topic, connector and kind of reason."""

    total: int = 0
    by_kind: dict[tuple[str, str, str], Group] = field(default_factory=dict)

    def counting(self, letters: Iterable[Letter]) -> Iterator[Letter]:
        """Pass letters on, and count them."""
        for letter in letters:
            key = letter.topic, letter.connector, letter.kind
            group = self.by_kind.get(key)
            if group is None:
                group = self.by_kind[key] = Group(masked(described(*letter.cause)))
            group.count += 1
            group.first, group.last = min(group.first, letter.timestamp), max(group.last, letter.timestamp)
            self.total += 1
            yield letter

    def objects(self) -> list[dict[str, Any]]:
        """Groups as objects of JSON, the largest first."""
        return [
            {
                "topic": topic,
                "connector": connector or None,
                "reason": group.example,
                "count": group.count,
                "first": moment(group.first),
                "last": moment(group.last),
            }
            for (topic, connector, _), group in sorted(self.by_kind.items(), key=lambda item: -item[1].count)
        ]


def grouped(letters: Iterable[Letter]) -> Groups:
    """Count all of them."""
    groups = Groups()
    for _ in groups.counting(letters):
        pass
    return groups


def print_groups(groups: Groups, limit: int, output: Output) -> None:
    """Print a line for each group, `limit` of them, the largest first."""
    rows = groups.objects()
    if output is not Output.TABLE:
        _print_items(rows[:limit], output)
        return
    if not rows:
        typer.echo("There are no such open dead letters.")
        return
    _print_table(
        ("count", "topic", "connector", "reason", "first", "last"),
        [
            (f"{r['count']:,}", r["topic"], r["connector"] or "-", r["reason"] or "-", r["first"], r["last"])
            for r in rows[:limit]
        ],
    )
    more = "" if len(rows) <= limit else f" in {len(rows):,} groups, of which {limit:,} are shown (-n shows more)"
    typer.echo(f"{counted(groups.total, 'open dead letter')}{more}")


@dataclass
class Newest:
    """The newest of so many dead letters, without their bytes."""

    letters: list[Letter]
    total: int

    @classmethod
    def of(cls, letters: Iterable[Letter], limit: int) -> Newest:
        """Read all letters, and keep `limit`."""
        total = 0

        def counted() -> Iterator[Letter]:
            nonlocal total
            for letter in letters:
                total += 1
                yield replace(letter, key=None, value=None, headers=())

        newest = heapq.nlargest(limit, counted(), key=lambda letter: (letter.timestamp, letter.offset))
        return cls(newest, total)


def print_letters(newest: Newest, output: Output) -> None:
    """Print a line for each."""
    if output is not Output.TABLE:
        _print_items([brief(letter) for letter in newest.letters], output)
        return
    if not newest.letters:
        typer.echo("There are no such open dead letters.")
        return
    _print_table(
        ("topic", "partition", "offset", "time", "connector", "record", "reason"),
        [
            (
                letter.topic,
                letter.partition,
                letter.offset,
                moment(letter.timestamp),
                letter.connector or "-",
                _record(letter) or "-",
                masked(described(*letter.cause)) or "-",
            )
            for letter in newest.letters
        ],
    )
    shown = len(newest.letters)
    more = "" if newest.total == shown else f", of which the newest {shown:,} are shown (-n shows more)"
    typer.echo(f"{counted(newest.total, 'open dead letter')}{more}")


def print_letter(letter: Letter, is_open: bool, output: Output, read: Mapping[str, bytes], *, raw: bool) -> None:
    """Print everything about one dead letter; `raw` shows credentials.

    `read` are its key and value as the converters of its connector read them, where they ask a registry.
    """
    hide: Callable[[bytes], bytes] = bytes if raw else redact_bytes
    headers = [(name, value if raw or value is None else redact_header(name, value)) for name, value in letter.headers]
    context = {name: hide(text.encode()).decode() for name, text in letter.context.items()}
    if output is not Output.TABLE:
        whole = {
            **brief(letter),
            "state": "open" if is_open else "closed",
            "context": context,
            "key": _json_bytes(None if letter.key is None else hide(letter.key)),
            "headers": [{"name": name, "value": _json_bytes(value)} for name, value in headers],
            "value": _json_bytes(None if letter.value is None else hide(letter.value)),
            "read": {part: _json_bytes(hide(data)) for part, data in read.items()},
        }
        _print_one(whole, output)
        return
    path, reason = letter.cause
    facts = {
        "dead letter": f"{letter.topic}, partition {letter.partition}, offset {letter.offset}: "
        + ("open" if is_open else "closed (replayed or dropped)"),
        "time": moment(letter.timestamp),
        "connector": letter.connector,
        "backfill": letter.backfill,
        "table": letter.table,
        "record": _record(letter) and f"{_record(letter)}, {moment(letter.record_timestamp)}",
        "column": path,
        "reason": hide(reason.encode()).decode(),
        "stage": context.get("stage", ""),
        "class": context.get("class.name", ""),
        "exception": context.get("exception.class.name", ""),
    }
    for name, text in facts.items():
        if text:
            typer.echo(f"{name:<12} {printable(text)}")
    trace = context.get("exception.stacktrace", "").strip().splitlines()
    for line in trace if len(trace) > 1 else ():
        typer.echo(f"  {printable(line)}")
    _print_bytes("key", None if letter.key is None else hide(letter.key))
    for name, value in headers:
        _print_bytes(f"header {printable(name)}", value)
    _print_bytes("value", None if letter.value is None else hide(letter.value))
    for part, data in read.items():
        _print_bytes(f"{part} read", hide(data))


def print_outcomes(outcomes: Iterable[Outcome], say: Callable[[str], None], output: Output, *, dry_run: bool) -> bool:
    """Tell what became of each; returns whether all are closed, or would be.

    A table shows those that stay open, with `dry_run` all of them; of many with one reason in a row the first ones, and
    of those that cannot be replayed the reason once.
    """
    from frazil.connectors.sink import WORDS

    counts: Counter[str] = Counter()
    printed = 0
    last, alike = ("", ""), 0
    never: set[str] = set()

    def tell_alike() -> None:
        if alike > _ALIKE:
            typer.echo(f"{last[0]}  {alike - _ALIKE:,} more for the same reason")

    for outcome in outcomes:
        counts[outcome.verdict] += 1
        words = WORDS[outcome.verdict][dry_run]
        reason = masked(outcome.reason)
        if output is not Output.TABLE:
            line = {**brief(outcome.letter), "verdict": outcome.verdict, "verdict_reason": reason or None}
            before = "- " if output is Output.YAML else (",\n " if printed else "[\n ")
            typer.echo(before + json_text(line), nl=output is Output.YAML)
            printed += 1
        elif outcome.verdict == "never":
            if reason not in never:
                typer.echo(printable(reason))
            never.add(reason)
        elif dry_run or not outcome.closed:
            topic, partition, offset = outcome.letter.position
            if not reason or (topic, reason) != last:
                tell_alike()
                last, alike = (topic, reason), 0
            alike += 1
            if alike <= _ALIKE:
                typer.echo(f"{topic} {partition} {offset}  {words}{': ' if reason else ''}{printable(reason)}")
        say(f"{counted(counts.total(), 'dead letter')} judged")
    if output is Output.JSON or (output is Output.YAML and not printed):
        typer.echo("\n]" if printed else "[]")
    elif output is Output.TABLE:
        tell_alike()
        typer.echo(_sum(counts, dry_run=dry_run))
    return not any(counts[verdict] for verdict in _OPEN)


def print_dropped(groups: Groups, dropped: int, output: Output) -> None:
    """Print the end of `drop`."""
    if output is not Output.TABLE:
        _print_one({"dropped": dropped, "meant": groups.total, "groups": groups.objects()}, output)
    elif groups.total:
        typer.echo(f"{counted(dropped, 'dead letter')} dropped." if dropped else "Nothing was dropped.")


def brief(letter: Letter) -> dict[str, Any]:
    """A dead letter as JSON, without the record's own bytes; the reason is masked."""
    path, reason = letter.cause
    return {
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "time": moment(letter.timestamp),
        "connector": letter.connector or None,
        "table": letter.table or None,
        "record": None
        if letter.record is None
        else dict(zip(("topic", "partition", "offset"), letter.record, strict=True)),
        "column": path or None,
        "reason": masked(reason) or None,
    }


def moment(milliseconds: int) -> str:
    """ISO 8601 in UTC, in seconds; the number for what no calendar has."""
    return shown(milliseconds).replace("+00:00", "Z")


@lru_cache(maxsize=4096)
def masked(text: str) -> str:
    """The text without credentials; many dead letters have the same one."""
    return redact_text(text) if text else text


def _sum(counts: Counter[str], *, dry_run: bool) -> str:
    from frazil.connectors.sink import WORDS

    if not counts:
        return "There are no such open dead letters."
    parts = [f"{counts[verdict]:,} {WORDS[verdict][dry_run]}" for verdict in WORDS if counts[verdict]]
    if not dry_run:
        parts = [f"{counts[v]:,} {WORDS[v][0]}" for v in ("stored", "present", "skipped") if counts[v]]
        if still := sum(counts[verdict] for verdict in _OPEN):
            parts.append(f"{still:,} {'stays' if still == 1 else 'stay'} open")
    return ", ".join(parts) + (". Nothing was changed." if dry_run else ".")


def _record(letter: Letter) -> str:
    return "" if letter.record is None else "{}-{}@{}".format(*letter.record)


def _json_bytes(data: bytes | None) -> str | dict[str, str] | None:
    """Text where it is UTF-8, else `{"base64": …}`."""
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data or b"").decode()}


def _print_bytes(name: str, data: bytes | None) -> None:
    if data is None:
        typer.echo(f"{name:<12} null")
        return
    shown = data[:_SHOWN]
    lines = byte_lines(shown)
    if len(lines) == 1:
        typer.echo(f"{name:<12} {lines[0]}")
    else:
        typer.echo(name)
        for line in lines:
            typer.echo(f"  {line}")
    if len(shown) < len(data):
        typer.echo(f"  … the first {len(shown):,} of {len(data):,} bytes; -o json has all")


def _print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a line for each row, whatever reasons have in them."""
    lines = [[printable(str(value)) for value in row] for row in rows]
    show_table(header, lines, numbers=("count", "partition", "offset"), cut="reason")


def _print_items(items: Sequence[object], output: Output) -> None:
    """Print items; in JSON one in a line."""
    if output is Output.YAML:
        typer.echo(as_text(list(items), output))
    else:
        typer.echo("[" + ",\n ".join(map(json_text, items)) + "]")


def _print_one(item: object, output: Output) -> None:
    """Print an item; in JSON as one line."""
    typer.echo(as_text(item, output) if output is Output.YAML else json_text(item))
