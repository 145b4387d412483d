"""Shows what a long step is doing: a spinner on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from frazil.stack.transfer import Transfer, repeating

_LINE_INTERVAL_S = 2.0


class Records(Transfer):
    """Text of a step that goes through records, shown as a bar like any `Transfer`."""

    def __new__(cls, what: str, done: int, total: int) -> Records:
        self = str.__new__(cls, f"{what}: {done:,} of {total:,}")
        self.done, self.total = done, total
        return self


class _OfTransfer(ProgressColumn):
    """A column that is there only while something is counted."""

    def __init__(self, column: ProgressColumn) -> None:
        super().__init__()
        self._column = column

    def render(self, task: Task) -> RenderableType:
        return "" if task.total is None else self._column.render(task)


@contextmanager
def titled(console: Console, number: str, title: str) -> Iterator[None]:
    """Print the title of a step before it, and how long it took behind it."""
    console.print(f"\n[{number}] {title}", style="bold")
    started = time.monotonic()
    yield
    console.print(f"      {time.monotonic() - started:.1f} s", style="dim")


@contextmanager
def progress(console: Console) -> Iterator[Callable[[str], None]]:
    """A function that shows the current step; what it shows disappears from a terminal at the end.

    A terminal also shows how long it has taken, and a bar with the time left for a `Transfer`. Where there is none,
    at most one line is printed every two seconds, and none that says what the last one said.
    """
    if console.is_terminal:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            _OfTransfer(BarColumn(20)),
            _OfTransfer(TimeRemainingColumn()),
            TimeElapsedColumn(),
        )
        # While it runs, what goes to standard output appears above it, unless that is not on the terminal.
        redirect = sys.stdout.isatty()
        with Progress(*columns, console=console, transient=True, redirect_stdout=redirect) as bar:
            task = bar.add_task("", total=None)

            def show(text: str) -> None:
                if isinstance(text, Transfer):
                    bar.update(task, description=text, completed=text.done, total=text.total)
                else:
                    bar.tasks[0].total = None  # `update` would leave it as it is
                    bar.update(task, description=text)

            yield show
        return
    newest = shown = ""

    def take(text: str) -> None:
        nonlocal newest
        newest = text

    def print_line() -> None:
        nonlocal shown
        if newest != shown:
            shown = newest
            console.print(f"  {shown}")

    with repeating(print_line, _LINE_INTERVAL_S):
        yield take
