"""Threads that do not keep the process from ending: a batch may wait for a store or a catalog that does not answer."""

import logging
import threading
from collections import deque
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Threads:
    """Runs calls in some threads, made when they are needed; unlike those of `concurrent.futures` they are daemons."""

    def __init__(self, most: int, name: str) -> None:
        """Make none yet; there are `most` at the same time, and their names begin with `name`."""
        self._most = most
        self._name = name
        self._changed = threading.Condition()
        self._calls: deque[Callable[[], None]] = deque()
        self._count = 0
        self._idle = 0
        self._closed = False

    def submit(self, call: Callable[[], None]) -> None:
        """Run a call as soon as a thread is free; after `close` it is dropped. What it raises is logged.

        Raises RuntimeError when there is no thread and none can be made; the call is not run then.
        """
        with self._changed:
            if self._closed:
                return
            self._calls.append(call)
            if self._idle >= len(self._calls) or self._count == self._most:
                self._changed.notify()
                return
            self._count += 1
            name = f"{self._name}-{self._count}"
        try:
            threading.Thread(target=self._run, name=name, daemon=True).start()
        except RuntimeError:
            with self._changed:
                self._count -= 1
                if self._count:
                    return  # one of the others gets to it
                self._calls.remove(call)
            raise

    def close(self) -> None:
        """Begin no more calls, those that wait are dropped, and end the threads; idempotent."""
        with self._changed:
            self._closed = True
            self._calls.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._calls or self._closed)
                self._idle -= 1
                if self._closed:
                    return
                call = self._calls.popleft()
            try:
                call()
            except BaseException:  # another call is not to wait for ever for this thread
                logger.exception("a fault of the program")
            del call  # a thread that waits holds no batch
