"""The threads that all actors of a worker share, so that a hundred connectors do not cost a hundred threads."""

import logging
import sched
import threading
import time
from collections.abc import Callable

from frazil.engine.threads import Threads

logger = logging.getLogger(__name__)

_AGAIN_S = 1.0
_THREADS = 32
"""Connectors that are started or stopped at the same time: most of them wait for a broker, a store or a catalog."""


class ActorThreads:
    """A pool that runs the turns of actors, and a timer that wakes actors later. Threads start when they are needed."""

    def __init__(self, threads: int = _THREADS) -> None:
        self._pool = Threads(threads, "connector")
        self._alarms = sched.scheduler(time.monotonic)
        self._changed = threading.Event()
        self._lock = threading.Lock()
        self._timer: threading.Thread | None = None
        self._closed = False

    def submit(self, turn: Callable[[], None]) -> None:
        """Run a turn as soon as a thread is free; see `Threads.submit`."""
        self._pool.submit(turn)

    def wake_at(self, moment: float, wake: Callable[[], None]) -> None:
        """Call `wake`, which returns at once, at `moment` in monotonic seconds, and again later while it raises."""
        self._alarms.enterabs(moment, 0, self._ring, (wake,))
        self._changed.set()
        with self._lock:
            if self._timer is None:
                self._timer = threading.Thread(target=self._run_timer, name="connector-timer", daemon=True)
                self._timer.start()

    def close(self) -> None:
        """End the threads once all actors have ended; idempotent."""
        self._closed = True
        self._changed.set()
        self._pool.close()

    def _ring(self, wake: Callable[[], None]) -> None:
        try:
            wake()
        except Exception:
            logger.exception("a connector could not be woken; it is tried again")
            self._alarms.enter(_AGAIN_S, 0, self._ring, (wake,))

    def _run_timer(self) -> None:
        while not self._closed:
            self._changed.clear()
            self._changed.wait(self._alarms.run(blocking=False))
