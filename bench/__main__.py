"""The program `python -m bench`."""

from __future__ import annotations

import os
import signal
import sys
import time
from enum import StrEnum
from types import FrameType
from typing import Annotated, Never, get_args

import typer
from rich.console import Console

from bench import machine, report
from bench.environment import Show, bench_settings, home_folder, shared_stack
from bench.results import Results
from bench.steps import STEPS, Plan, measure
from frazil.cli.ui.progress import progress
from frazil.errors import FrazilError, UsageError
from frazil.minio.records.kinds import TableKind

_QUICK_RECORDS, _QUICK_BACKLOG, _QUICK_COMMITS, _QUICK_SECONDS = 100_000, 500_000, 20, 15
_LINE_INTERVAL_S = 10.0
_BACKLOG, _RATE, _CHANGES, _COMMITS, _SECONDS = 5_000_000, 5_000, 1_000, 360, 60


class Output(StrEnum):
    """Forms of the report."""

    MARKDOWN = "markdown"
    JSON = "json"


def bench(
    count: Annotated[int, typer.Option("--records", help="Records that each system reads.")] = 1_500_000,
    kind: Annotated[str, typer.Option(help=f"Their kind: {', '.join(get_args(TableKind))}.")] = "api",
    only: Annotated[list[str] | None, typer.Option(help=f"A step, may be repeated: {', '.join(STEPS)}.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A look, no figures to quote: 100,000 records, 500,000 of backlog, 15 s.")
    ] = False,
    seconds: Annotated[int, typer.Option(min=1, help="Length of the steady rates.")] = _SECONDS,
    changes: Annotated[int, typer.Option(min=1, help="Changes a second in the step cdc.")] = _CHANGES,
    commits: Annotated[int, typer.Option(min=10, help="Commits of the step compaction.")] = _COMMITS,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each system; the one of median rate is shown.")] = 1,
    verify: Annotated[bool, typer.Option("--verify", help="Read every row and compare it with all others.")] = False,
    output: Annotated[Output, typer.Option(help="Form of the report.")] = Output.MARKDOWN,
) -> None:
    """Compare frazil with Kafka Connect and its Iceberg sink: the same records, tables and machine.

    The report goes to stdout, progress to stderr. FRAZIL_BENCH_HOME is the folder for data (default: a temporary one);
    a run with 5 million records of backlog needs some 5 GB.
    """
    if count < 1:
        raise UsageError(f"--records must be more than 0, not {count}")
    unknown = sorted(set(only or ()) - set(STEPS))
    if unknown:
        raise UsageError(f"unknown step {', '.join(unknown)}; choose from: {', '.join(STEPS)}")
    plan = Plan(
        kind=_kind(kind),
        records=min(count, _QUICK_RECORDS) if quick else count,
        backlog_records=_QUICK_BACKLOG if quick else _BACKLOG,
        latency_rate=_RATE,
        change_rate=changes,
        commits=min(commits, _QUICK_COMMITS) if quick else commits,
        latency_seconds=min(seconds, _QUICK_SECONDS) if quick else seconds,
        repeat=repeat,
        verify=verify,
        steps=tuple(only or STEPS),
    )
    results = run(plan)
    print(report.to_json(results) if output is Output.JSON else report.to_markdown(results))
    if not results.good:
        raise typer.Exit(1)


def run(plan: Plan) -> Results:
    """Start what all systems share, measure, and stop everything again, also after a failure or Ctrl+C."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    console = Console(stderr=True)

    def tell(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    results = Results(machine.describe(os.environ))
    parent = os.environ.get("FRAZIL_BENCH_HOME")
    with home_folder(parent, lambda: bool(results.failures)) as home, progress(console) as spinner:
        show = spinner if console.is_terminal else _seldom(spinner)
        settings = bench_settings(home, os.environ)
        with shared_stack(settings, show):
            measure(settings, plan, results, show, tell)
        if results.failures:
            tell(f"The logs are kept in {home}")
    return results


def _seldom(show: Show) -> Show:
    """Where there is no terminal, a line every ten seconds is enough for steps of minutes."""
    last = 0.0

    def line(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_INTERVAL_S:
            last = time.monotonic()
            show(text)

    return line


def _kind(text: str) -> TableKind:
    for kind in get_args(TableKind):
        if kind == text:
            return kind  # type: ignore[no-any-return]
    raise UsageError(f"unknown kind {text}; choose one of: {', '.join(get_args(TableKind))}")


def _interrupt(number: int, frame: FrameType | None) -> Never:
    """The first signal ends the measurement; further ones do not disturb the stopping of what was started."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    raise KeyboardInterrupt


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(bench)


def main() -> None:
    """Exit code 0 when every step ran and every table is exact, 1 if not, 2 for wrong usage, 130 when interrupted."""
    try:
        app()
    except FrazilError as error:
        Console(stderr=True, soft_wrap=True).print(f"bench: {error}", markup=False, highlight=False)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
