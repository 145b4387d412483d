from __future__ import annotations

import time

import pytest

from frazil.stack import transfer
from frazil.stack.transfer import Transfer, watched
from tests.waits import eventually


def test_the_text_tells_the_bytes() -> None:
    step = Transfer("downloading", 1_234_567_890, 2_000_000_000)
    assert step == "downloading: 1,235 of 2,000 MB"
    assert (step.done, step.total) == (1_234_567_890, 2_000_000_000)


def test_bytes_are_reported_until_the_body_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_POLL_S", 0.01)
    seen: list[str] = []
    with pytest.raises(ValueError, match="over"), watched("moving", lambda: 7_000_000, 5_000_000, seen.append):
        eventually(lambda: seen)
        raise ValueError("over")
    assert set(seen) == {"moving: 5 of 5 MB"}
    count = len(seen)
    time.sleep(0.05)
    assert len(seen) == count
