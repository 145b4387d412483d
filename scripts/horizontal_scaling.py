"""Test of horizontal scaling: one connector on a Spark cluster that grows, and loses a worker in the middle of a run.

Everything runs in a home of its own on loopback: Kafka, the object store, a Spark standalone cluster with workers of
one core each, and a frazil worker that has its tasks there. A topic is loaded once. For each number of Spark workers a
new connector stores it as JSON Lines, and `frazil verify` compares both.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table
from scripts.scaling_runs import Load, Outcome, ScalingTest

from frazil.cli.ui.console import make_console
from frazil.cli.ui.progress import progress
from frazil.errors import FrazilError


def report(outcomes: Sequence[Outcome]) -> Table:
    """The runs, one a line; what is not complete is red."""
    table = Table("SPARK WORKERS", box=None, pad_edge=False)
    for heading in ("REC/S", "SPEEDUP", "REC/CPU-S", "RECORDS", "STORED", "DEAD", "MISSING", "DOUBLED", "OTHER"):
        table.add_column(heading, justify="right")
    for one in outcomes:
        table.add_row(
            one.workers,
            f"{one.rate:,.0f}",
            f"{one.rate / outcomes[0].rate:.2f}" if outcomes[0].rate else "–",
            "–" if one.per_cpu_s is None else f"{one.per_cpu_s:,.0f}",
            *(f"{one.total(name):,}" for name in ("read", "stored", "dead", "missing", "doubled", "foreign")),
            style=None if one.complete else "red",
        )
    return table


def test(home: Path, workers: int, load: Load, say: Callable[[str], None]) -> list[Outcome]:
    """Run with 1 to so many Spark workers, then once more with one of them killed; everything is stopped then."""
    scaling = ScalingTest(home, load, say)
    outcomes = []
    try:
        scaling.start()
        for count in range(1, workers + 1):
            scaling.grow(count)
            outcomes.append(scaling.run(f"workers-{count}"))
        outcomes.append(scaling.run("killed", kill=True))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl+C must not leave parts running
        say("stopping everything")
        scaling.stop()
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    """The script: 0 when every record of every run is stored once, 1 when not, 2 for wrong usage, 130 for Ctrl+C."""
    options = _parse(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    home = Path(tempfile.mkdtemp(prefix="frazil-scaling-"))
    console = make_console(stderr=True)
    try:
        with progress(console) as say:
            outcomes = test(home, options.workers, Load(options.records, options.partitions), say)
    except KeyboardInterrupt:
        shutil.rmtree(home)
        console.print("Interrupted. Everything that the test has started is stopped, and its data is removed.")
        return 130
    except FrazilError as error:
        console.print(f"test-horizontal-scaling: {error}. Everything is stopped; logs are in {home / 'logs'}.")
        return 1
    make_console().print(report(outcomes))
    if not all(one.complete for one in outcomes):
        console.print(f"Not every record is stored once. Everything is stopped; logs and data are in {home}.")
        return 1
    shutil.rmtree(home)
    make_console().print(
        "Each record is stored exactly once or is a dead letter, also where a Spark worker was killed."
    )
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "scripts/test-horizontal-scaling.sh",
        description="Store a topic as JSON Lines with 1, 2 or more Spark workers of one core each, and with one of "
        "them killed. Prints the rates, and what `frazil verify` finds. Takes under three minutes on two cores.",
        epilog="Everything runs on loopback, on free ports and in a temporary home that is removed at the end. Exit "
        "code 1: a record is missing or doubled, or a part did not start; the home stays then.",
    )
    parser.add_argument(
        "-w", "--workers", type=_at_least(2), default=2, help="Spark workers of the last run (%(default)s)"
    )
    parser.add_argument("-n", "--records", type=_at_least(1000), default=300_000, help="records (%(default)s)")
    parser.add_argument("-p", "--partitions", type=_at_least(1), default=4, help="of the topic (%(default)s)")
    options = parser.parse_args(arguments)
    if options.partitions < options.workers:
        parser.error("with fewer partitions than workers some have nothing to do; raise --partitions")
    return options


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit() and int(text) >= least):
            raise argparse.ArgumentTypeError(f"{text}: expected a whole number of at least {least}")
        return int(text)

    return number


if __name__ == "__main__":
    sys.exit(main())
