"""Shows what a long step is doing: a spinner on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

_LINE_INTERVAL_S = 2.0


@contextmanager
def progress(console: Console) -> Iterator[Callable[[str], None]]:
    """A function that shows the current step; what it shows disappears from a terminal at the end.

    A terminal also shows how long it has taken. Where there is none, at most one line is printed every two seconds, and
    none that says what the last one said.
    """
    if console.is_terminal:
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", start=True)
            yield lambda text: bar.update(task, description=text)
        return
    last = time.monotonic()
    shown = ""

    def line(text: str) -> None:
        nonlocal last, shown
        now = time.monotonic()
        if now - last >= _LINE_INTERVAL_S and text != shown:
            last, shown = now, text
            console.print(f"  {text}")

    yield line
