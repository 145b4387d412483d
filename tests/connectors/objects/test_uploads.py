"""Objects on their way to the store: bounded, and none forgotten."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import pytest

from frazil.connectors.objects import uploads
from frazil.connectors.objects.open_object import Finished
from frazil.connectors.objects.results import StoredObject
from frazil.connectors.objects.uploads import Uploads
from frazil.errors import StoreUnavailable
from tests.waits import PATIENCE_S, eventually


@dataclass
class Slow:
    """A store that takes an object when it is told to."""

    free: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    names: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def put(self, name: str, body: IO[bytes], size: int, tags: tuple[tuple[str, str], ...]) -> None:
        self.asked.append(name)
        assert self.free.acquire(timeout=PATIENCE_S)
        if name == "bad":
            raise StoreUnavailable("503")
        assert len(body.read()) == size
        self.names.append(name)


def finished(name: str, size: int = 10) -> Finished:
    return Finished(StoredObject(name, "t", 0, 0, 0, 1, size), io.BytesIO(b"x" * size))


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def sent(slow: Slow) -> Iterator[Uploads]:
    made = Uploads(slow, tag_offsets=False)
    yield made
    slow.free.release(100)
    made.close()


def test_all_are_durable_after_the_wait(slow: Slow, sent: Uploads) -> None:
    slow.free.release(50)
    for number in range(50):
        sent.add(finished(str(number)))
    sent.wait()
    assert sorted(map(int, slow.names)) == list(range(50))
    assert len(sent.seconds) == 50


def test_bytes_on_their_way_are_bounded(slow: Slow, sent: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_WAITING_BYTES", 25)
    sent.add(finished("a"))
    sent.add(finished("b"))
    third = threading.Thread(target=sent.add, args=(finished("c"),))
    third.start()
    third.join(0.1)
    assert third.is_alive()
    slow.free.release(3)
    third.join(PATIENCE_S)
    assert not third.is_alive()
    sent.wait()
    assert sorted(slow.names) == ["a", "b", "c"]


def test_one_that_is_larger_than_the_bound_goes_alone(
    slow: Slow, sent: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_WAITING_BYTES", 25)
    slow.free.release(2)
    sent.add(finished("a"))
    sent.add(finished("large", 100))
    sent.wait()
    assert sorted(slow.names) == ["a", "large"]


@pytest.mark.parametrize(("size", "at_once"), [(10, 8), (11, 2)])
def test_large_objects_are_sent_two_at_once(
    slow: Slow, sent: Uploads, monkeypatch: pytest.MonkeyPatch, size: int, at_once: int
) -> None:
    monkeypatch.setattr(uploads, "_SENT_BYTES", 80 if at_once == 8 else 32)
    for number in range(20):
        sent.add(finished(str(number), size))
    eventually(lambda: len(slow.asked) == at_once)
    time.sleep(0.05)
    assert len(slow.asked) == at_once
    slow.free.release(20)
    sent.wait()
    assert len(slow.names) == 20


def test_objects_that_wait_for_their_turn_are_given_up(monkeypatch: pytest.MonkeyPatch, slow: Slow) -> None:
    monkeypatch.setattr(uploads, "_SENT_BYTES", 1)
    sent = Uploads(slow, tag_offsets=False)
    for number in range(6):
        sent.add(finished(str(number)))
    eventually(lambda: len(slow.asked) == 2)
    closing = threading.Thread(target=sent.close)
    closing.start()
    eventually(lambda: sent._closed)  # noqa: SLF001
    slow.free.release(6)
    closing.join(PATIENCE_S)
    assert not closing.is_alive()
    assert len(slow.asked) == 2


def test_a_failure_is_not_forgotten(slow: Slow, sent: Uploads) -> None:
    slow.free.release(3)
    for name in ("a", "bad", "b"):
        sent.add(finished(name))
    with pytest.raises(StoreUnavailable):
        sent.wait()
