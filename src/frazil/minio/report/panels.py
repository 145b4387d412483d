"""Panels of the report: the plots and tables of the operators' questions."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from frazil.minio.report.charts import Unit, bars_over_time, greatest
from frazil.minio.report.page import Column, Fact, Panel
from frazil.sql.result import Result
from frazil.sql.value_text import printable_lines, text_of

Row = dict[str, Any]

_ROWS_SHOWN = 200
_CELL_CHARACTERS = 2_000
_BARS = 10
_SERIES = 6
_OTHERS = "others"
_HOUR = 3600
_DAY = 24 * _HOUR
_HOURS_AS_BARS = 24 * 8
_NONE = "(none)"
_CALLS = Unit("calls")
_BYTES = Unit("bytes")
_REQUEST_ID = re.compile(r"(?<! ) *+\(?[0-9A-F]{16}\)?")


@dataclass(frozen=True)
class Span:
    """Time from `start` until before `end`, in UTC."""

    start: datetime
    end: datetime

    @property
    def step_s(self) -> int:
        """Seconds of one bar: an hour, or a day where hours would be too thin."""
        return _HOUR if (self.end - self.start).total_seconds() <= _HOURS_AS_BARS * _HOUR else _DAY

    def step_of(self, moment: datetime) -> datetime:
        """Beginning of the bar that a time belongs to."""
        seconds = int(moment.timestamp())
        return datetime.fromtimestamp(seconds - seconds % self.step_s, UTC)

    @property
    def first(self) -> datetime:
        return self.step_of(self.start)

    @property
    def last(self) -> datetime:
        """End of the last bar."""
        return self.step_of(self.end - timedelta(microseconds=1)) + timedelta(seconds=self.step_s)

    @property
    def each(self) -> str:
        return "hour" if self.step_s == _HOUR else "day"


@dataclass(frozen=True)
class View:
    """A panel made from the answer to `question`; at most `rows` rows are asked for, all when None."""

    question: str
    title: str
    explanation: str
    draw: Callable[[list[Row], Span], tuple[str, list[Row]]]
    rows: int | None = None


def panel(view: View, answer: Result | str, span: Span) -> Panel:
    """The panel of a view; an answer that is text is the reason why there is none."""
    explanation = view.explanation.format(each=span.each)
    if isinstance(answer, str):
        return Panel(view.title, explanation, failure=answer)
    found = rows_of(answer)
    if not found:
        return Panel(view.title, explanation)
    plot, rows = view.draw(found, span)
    names = list(rows[0]) if rows else []
    return Panel(
        view.title,
        explanation,
        [Column(name.replace("_", " "), _all_numbers([row[name] for row in rows])) for name in names],
        [[_text(row[name]) for name in names] for row in rows[:_ROWS_SHOWN]],
        plot,
        more=max(0, len(rows) - _ROWS_SHOWN),
    )


def facts(traffic: Result | str, logins: Result | str) -> list[Fact]:
    """Figures over the whole time."""
    found: list[Fact] = []
    if isinstance(traffic, Result):
        rows = rows_of(traffic)
        calls, errors = _sum(rows, "calls"), _sum(rows, "errors")
        found += [
            Fact("Calls", f"{calls:,}"),
            Fact("With errors", f"{errors:,} ({errors / calls:.1%})" if calls else "0"),
            Fact("Received", _bytes(_sum(rows, "bytes_in"))),
            Fact("Sent", _bytes(_sum(rows, "bytes_out"))),
            Fact("Deletions", f"{_sum(rows, 'deletes'):,}"),
        ]
    if isinstance(logins, Result):
        failed = sum(row["outcome"] == "failure" for row in rows_of(logins))
        found.append(Fact("Failed sign-ins", f"{failed:,} of {logins.row_count:,}"))
    return found


def rows_of(answer: Result) -> list[Row]:
    """Rows with the names of their columns."""
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def _calls_over_time(rows: list[Row], span: Span) -> tuple[str, list[Row]]:
    steps = _by_step(rows, span, "hour", ("calls", "errors", "reads", "writes", "deletes", "lists"))
    series = ("without error", "with error")
    points = [
        (row["begin"], name, count)
        for row in steps
        for name, count in zip(series, (row["calls"] - row["errors"], row["errors"]), strict=True)
    ]
    return bars_over_time(points, series, span.first, span.last, span.step_s, _CALLS), steps


def _bytes_over_time(rows: list[Row], span: Span) -> tuple[str, list[Row]]:
    steps = _by_step(rows, span, "hour", ("bytes_in", "bytes_out"))
    series = ("received", "sent")
    points = [
        (row["begin"], name, row[column])
        for row in steps
        for name, column in zip(series, ("bytes_in", "bytes_out"), strict=True)
    ]
    return bars_over_time(points, series, span.first, span.last, span.step_s, _BYTES), steps


def _bytes_of_buckets(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    buckets = _grouped(rows, "bucket", ("calls", "errors", "reads", "writes", "deletes", "bytes_in", "bytes_out"))
    buckets.sort(key=lambda row: -(row["bytes_in"] + row["bytes_out"]))
    bars = [(row["bucket"], row["bytes_in"] + row["bytes_out"]) for row in buckets[:_BARS]]
    return greatest(bars, _BYTES), buckets


def _slowest(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    bars = [(_named(row, "api", "bucket"), row["duration_ms"]) for row in rows[:_BARS]]
    return greatest(bars, Unit("duration in ms", ",.3~r")), rows


def _errors(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    names = [_named({**row, "node": _host(row["node"])}, "status", "api", "node") for row in rows[:_BARS]]
    return greatest([(name, row["failed"]) for name, row in zip(names, rows, strict=False)], _CALLS), rows


def _talkers(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    return greatest([(_named(row, "who", "source_host"), row["calls"]) for row in rows[:_BARS]], _CALLS), rows


def _server_errors(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    kinds = Counter[str]()
    for row in rows:  # one for each server that complains
        kinds[_REQUEST_ID.sub("", row["message"] or _NONE)] += row["times"]
    return greatest(kinds.most_common(_BARS), Unit("records")), rows


def _denied(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    reasons = Counter(row["reason"] or "no reason recorded" for row in rows)
    return greatest(reasons.most_common(_BARS), _CALLS), rows


def _logins(rows: list[Row], span: Span) -> tuple[str, list[Row]]:
    return _events(rows, span, "outcome", Unit("sign-ins"), ("success", "failure")), rows


def _deletions(rows: list[Row], span: Span) -> tuple[str, list[Row]]:
    return _events(rows, span, "who", Unit("deletions")), rows


def _changes(rows: list[Row], span: Span) -> tuple[str, list[Row]]:
    return _events(rows, span, "category", Unit("changes")), rows


def _rates(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    bars = [(f"{row['minute']:%m-%d %H:%M} {row['bucket'] or ''}".rstrip(), row["calls"]) for row in rows]
    return greatest(sorted(bars, key=lambda bar: -bar[1])[:_BARS], _CALLS), rows


def _latencies(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    return greatest([(row["api"], row["p99_ms"]) for row in rows[:_BARS]], Unit("p99 in ms", ",.3~r")), rows


def _failed_logins(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    hosts = _grouped(rows, "source_host", ("failed",))
    hosts.sort(key=lambda row: -row["failed"])
    return greatest([(row["source_host"], row["failed"]) for row in hosts[:_BARS]], Unit("sign-ins")), rows


def _session_calls(rows: list[Row], _: Span) -> tuple[str, list[Row]]:
    users = Counter[str]()
    for row in rows:
        users[_named(row, "identity", "assumed_by")] += row["calls"]
    return greatest(users.most_common(_BARS), _CALLS), rows


VIEWS: tuple[View, ...] = (
    View(
        "traffic",
        "Calls and errors",
        "Calls of clients per {each}; errors have HTTP status 400 or more.",
        _calls_over_time,
    ),
    View("traffic", "Bytes", "Bytes that the cluster received from and sent to clients, per {each}.", _bytes_over_time),
    View("traffic", "Buckets", "Bytes received and sent, the ten busiest buckets.", _bytes_of_buckets),
    View("talkers", "Top talkers", "Who makes the most calls, and from which address.", _talkers, 50),
    View("slowest", "Slowest calls", "Single calls that took longest.", _slowest, 50),
    View("errors", "Errors by API and node", "Calls with HTTP status 400 or more.", _errors, 100),
    View(
        "server-errors",
        "What servers complain about",
        "The error log, alike messages taken together.",
        _server_errors,
        50,
    ),
    View(
        "why-denied", "Refused calls", "Calls that ended with 401 or 403, by reason; the newest 1,000.", _denied, 1000
    ),
    View("logins", "Sign-ins", "Calls that make a session, per {each}; the newest 5,000.", _logins, 5000),
    View(
        "who-deleted", "Deletions", "Deletions that succeeded, per {each} and user; the newest 5,000.", _deletions, 5000
    ),
    View(
        "changes",
        "Changes of administrators",
        "Users, policies and configuration, per {each}; the newest 1,000.",
        _changes,
        1000,
    ),
)
OF_AGGREGATES: tuple[View, ...] = (
    View("rates", "Busiest minutes", "Calls per minute and bucket; the newest 5,000 such rows.", _rates, 5000),
    View("latencies", "Latencies", "The worst five minutes of each API.", _latencies, 50),
    View("failed-logins", "Failed sign-ins", "Per address and ten minutes.", _failed_logins, 1000),
    View("session-calls", "Calls of sessions", "By whom sessions were assumed, newest 1,000.", _session_calls, 1000),
)
"""Panels of questions to tables of `init --with aggregates`, where these exist."""


def _events(rows: Sequence[Row], span: Span, column: str, unit: Unit, first: Sequence[str] = ()) -> str:
    """Bars that count rows by the column `time`; the commonest values of a column are the series, after `first`."""
    names = [str(row[column] or _NONE) for row in rows]
    found = Counter(names)
    series = [name for name in first if name in found]
    series += [name for name, _ in found.most_common() if name not in series]
    if len(series) > _SERIES:
        series = [*series[: _SERIES - 1], _OTHERS]
    counts = Counter(
        (span.step_of(row["time"]), name if name in series else _OTHERS) for row, name in zip(rows, names, strict=True)
    )
    points = [(moment, name, float(count)) for (moment, name), count in sorted(counts.items())]
    return bars_over_time(points, series, span.first, span.last, span.step_s, unit)


def _named(row: Row, *columns: str) -> str:
    """Values of columns that are there, as the name of a bar."""
    return " ".join(str(row[column]) for column in columns if row[column]) or _NONE


def _host(node: str | None) -> str:
    """The name of a server without its domain and port, which have no room beside a bar."""
    name = (node or "").partition(":")[0]
    return name if name.replace(".", "").isdigit() else name.partition(".")[0]


def _by_step(rows: Sequence[Row], span: Span, column: str, sums: Sequence[str]) -> list[Row]:
    steps: dict[datetime, Row] = {}
    for row in rows:
        begin = span.step_of(row[column])
        step = steps.setdefault(begin, {"begin": begin, **dict.fromkeys(sums, 0)})
        for name in sums:
            step[name] += row[name]
    return [steps[begin] for begin in sorted(steps)]


def _grouped(rows: Sequence[Row], column: str, sums: Sequence[str]) -> list[Row]:
    groups: dict[str, Row] = {}
    for row in rows:
        name = row[column] or _NONE
        group = groups.setdefault(name, {column: name, **dict.fromkeys(sums, 0)})
        for total in sums:
            group[total] += row[total]
    return list(groups.values())


def _sum(rows: Sequence[Row], column: str) -> int:
    return sum(int(row[column]) for row in rows)


def _bytes(count: int) -> str:
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}" if unit != "B" else f"{count} B"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    text = text_of(value)
    return printable_lines(text if len(text) <= _CELL_CHARACTERS else f"{text[:_CELL_CHARACTERS]}…")


def _all_numbers(values: Sequence[Any]) -> bool:
    found = [value for value in values if value is not None]
    return bool(found) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in found)
