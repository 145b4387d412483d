"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 300
"""How long a test waits for what should happen at once: the machine may be busy with other tests."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.25


def eventually(check: Callable[[], Any], timeout: float = PATIENCE_S) -> Any:
    """The first true value of `check`; fails with its last value after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE_S
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < deadline, f"not true within {timeout} s; last value {value!r}"
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
