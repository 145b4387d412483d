from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from frazil.engine.threads import Threads
from tests.waits import PATIENCE_S


def test_calls_run_side_by_side_up_to_the_number_of_threads() -> None:
    threads = Threads(2, "t")
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
    threads.close()


def test_a_thread_that_is_free_is_used_again() -> None:
    threads = Threads(8, "again")
    for _ in range(20):
        done = threading.Event()
        threads.submit(done.set)
        assert done.wait(PATIENCE_S)
        time.sleep(0.005)
    assert sum(thread.name.startswith("again-") for thread in threading.enumerate()) == 1
    threads.close()


def test_a_call_that_raises_leaves_its_thread_to_the_next(caplog: pytest.LogCaptureFixture) -> None:
    threads, done = Threads(1, "one"), threading.Event()

    def leave() -> None:
        raise SystemExit(1)

    threads.submit(leave)
    threads.submit(done.set)
    assert done.wait(PATIENCE_S)
    assert "SystemExit" in caplog.text
    threads.close()


def test_a_thread_that_cannot_be_made_is_the_callers_error_unless_another_takes_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads, release, done = Threads(2, "few"), threading.Event(), threading.Event()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            threads.submit(done.set)

    def hold() -> None:
        release.wait(PATIENCE_S)

    threads.submit(hold)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        threads.submit(done.set)
    release.set()
    assert done.wait(PATIENCE_S)
    threads.close()


def test_after_the_end_nothing_begins() -> None:
    threads = Threads(1, "end")
    begun, release, late = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        release.wait(PATIENCE_S)

    threads.submit(wait)
    assert begun.wait(PATIENCE_S)
    threads.submit(late.set)
    threads.close()
    threads.close()
    release.set()
    threads.submit(late.set)
    assert not late.wait(0.1)


def test_a_call_that_hangs_does_not_keep_the_process() -> None:
    program = (
        "import threading; from frazil.engine.threads import Threads; begun = threading.Event()\n"
        "def hang():\n  begun.set(); threading.Event().wait()\n"
        "threads = Threads(1, 'x'); threads.submit(hang); begun.wait(10); threads.close()"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
