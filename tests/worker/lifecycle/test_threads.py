from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from frazil.worker.lifecycle.threads import ActorThreads
from tests.waits import PATIENCE_S, eventually


@pytest.fixture
def threads() -> Iterator[ActorThreads]:
    threads = ActorThreads(2)
    yield threads
    threads.close()


def test_turns_run_side_by_side_up_to_the_number_of_threads(threads: ActorThreads) -> None:
    both, third, release = threading.Barrier(3), threading.Event(), threading.Event()

    def wait() -> None:
        both.wait(PATIENCE_S)
        release.wait(PATIENCE_S)

    threads.submit(wait)
    threads.submit(wait)
    threads.submit(third.set)
    both.wait(PATIENCE_S)
    assert not third.wait(0.1)
    release.set()
    assert third.wait(PATIENCE_S)


def test_alarms_ring_in_the_order_of_their_moments_and_not_before(threads: ActorThreads) -> None:
    rung: list[tuple[str, bool]] = []
    now = time.monotonic()
    for name, moment in (("last", now + 0.2), ("first", now - 1), ("second", now + 0.1)):
        threads.wake_at(moment, lambda name=name, moment=moment: rung.append((name, time.monotonic() >= moment)))  # type: ignore[misc]
    eventually(lambda: len(rung) == 3)
    assert rung == [("first", True), ("second", True), ("last", True)]


def test_no_thread_is_left_after_the_end() -> None:
    before = set(threading.enumerate())
    threads = ActorThreads()
    ran, rung = threading.Event(), threading.Event()
    threads.submit(ran.set)
    threads.wake_at(time.monotonic(), rung.set)
    threads.wake_at(time.monotonic() + 3600, rung.set)
    assert ran.wait(PATIENCE_S)
    assert rung.wait(PATIENCE_S)
    assert len(set(threading.enumerate()) - before) == 2
    threads.close()
    threads.close()
    eventually(lambda: not set(threading.enumerate()) - before)
