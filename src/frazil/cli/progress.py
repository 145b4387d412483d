"""Shows what a long step is doing: a spinner on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

_LINE_INTERVAL_S = 2.0


@contextmanager
def progress(console: Console) -> Iterator[Callable[[str], None]]:
    """A function that shows the current step; what it shows disappears from a terminal at the end.

    Where there is no terminal, at most one line is printed every two seconds.
    """
    if console.is_terminal:
        with console.status("") as status:
            yield lambda text: status.update(escape(text))
        return
    last = time.monotonic()

    def line(text: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_INTERVAL_S:
            last = now
            console.print(f"  {text}", markup=False, highlight=False)

    yield line
