"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 300
"""How long a test waits for what should happen at once: the machine may be busy with other tests."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.25


def eventually(check: Callable[[], Any], timeout: float = PATIENCE_S) -> Any:
    """The first true value of `check`; fails with its last value after `timeout` seconds.

    The longer a check takes and the more there have been, the longer is the pause until the next.
    """
    started = time.monotonic()
    pause = _FIRST_PAUSE_S
    while True:
        begun = time.monotonic()
        value = check()
        if value:
            return value
        ended = time.monotonic()
        assert ended < started + timeout, f"not true within {timeout} s; last value {value!r}"
        pause = min(max(1.5 * pause, 5 * (ended - begun)), _LONGEST_PAUSE_S)
        time.sleep(pause)
