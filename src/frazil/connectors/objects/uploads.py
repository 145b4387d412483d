"""Objects on their way to the store: several at a time, none forgotten."""

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition
from typing import IO, Protocol

from frazil.connectors.objects.open_object import Finished

_WORKERS = 8
_WAITING = 4 * _WORKERS
MAX_WAITING_BYTES = 64 << 20
"""Objects, and bytes of objects, that wait for the store at most; one object always may."""
_SENT_BYTES = 3 << 20
"""Bytes of objects that are sent at once; two objects always may be.

Small objects are many at once, as each waits for an answer. More large ones would only share the same line, and each
would take longer.
"""


class Store(Protocol):
    """Store that objects go to; picklable, and any thread may call it."""

    def put(self, name: str, body: IO[bytes], size: int, tags: tuple[tuple[str, str], ...]) -> None:
        """Store an object in place of one with the same name; returns when it is durable.

        Raises ServiceUnavailable or ConfigError.
        """


class Uploads:
    """Uploads of one task; used from one thread."""

    def __init__(self, store: Store, *, tag_offsets: bool) -> None:
        self._store = store
        self._tag_offsets = tag_offsets
        self._threads = ThreadPoolExecutor(_WORKERS, thread_name_prefix="upload")
        self._sending = Condition()
        self._sent: list[int] = []
        """Sizes of the objects that are being sent."""
        self._closed = False
        self._running: deque[tuple[int, Future[float]]] = deque()
        self._bytes = 0
        self.seconds: list[float] = []
        """Seconds that each object took."""
        self.waited_s = 0.0
        """Time that was spent waiting for the store, in seconds."""

    def add(self, finished: Finished) -> None:
        """Begin to store an object; waits while many do. Raises the error of one that failed before."""
        size = finished.object.size
        while self._running and (len(self._running) >= _WAITING or self._bytes + size > MAX_WAITING_BYTES):
            self._settle()
        self._bytes += size
        self._running.append((size, self._threads.submit(self._put, finished)))

    def wait(self) -> None:
        """Return when all objects are durable; raises the error of the first one that is not."""
        while self._running:
            self._settle()

    def close(self) -> None:
        """End the threads; what has not begun is given up."""
        with self._sending:
            self._closed = True
            self._sending.notify_all()
        self._threads.shutdown(cancel_futures=True)

    def _settle(self) -> None:
        started = time.monotonic()
        size, future = self._running.popleft()
        self.seconds.append(future.result())
        self._bytes -= size
        self.waited_s += time.monotonic() - started

    def _put(self, finished: Finished) -> float:
        made = finished.object
        offsets = (("startOffset", str(made.first)), ("endOffset", str(made.last)), ("recordCount", str(made.count)))
        with self._turn(made.size), finished.body as body:
            started = time.monotonic()
            self._store.put(made.name, body, made.size, offsets if self._tag_offsets else ())
            return time.monotonic() - started

    @contextmanager
    def _turn(self, size: int) -> Iterator[None]:
        """Wait until so many bytes more may be sent, and count them while they are."""
        with self._sending:
            self._sending.wait_for(lambda: self._closed or len(self._sent) < 2 or sum(self._sent) + size <= _SENT_BYTES)
            if self._closed:
                raise CancelledError
            self._sent.append(size)
        try:
            yield
        finally:
            with self._sending:
                self._sent.remove(size)
                self._sending.notify_all()
