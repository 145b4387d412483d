"""A step of a long download or of unpacking, with its bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_POLL_S = 0.25


class Transfer(str):
    """Text of a step that moves bytes, for any `Progress`; who shows it as a bar finds `done` and `total` bytes."""

    done: int
    total: int

    def __new__(cls, what: str, done: int, total: int) -> Transfer:
        self = super().__new__(cls, f"{what}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
        self.done, self.total = done, total
        return self


@contextmanager
def watched(what: str, done: Callable[[], int], total: int, progress: Callable[[str], None]) -> Iterator[None]:
    """Report `done()` of `total` bytes four times a second while the body runs in this thread."""
    with repeating(lambda: progress(Transfer(what, min(done(), total), total)), _POLL_S):
        yield


@contextmanager
def repeating(call: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call a function every so often, from a thread of its own, while the body runs in this one."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(seconds):
            call()

    thread = threading.Thread(target=run, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
