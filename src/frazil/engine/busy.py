"""The lock that a running batch of a connector holds, whichever of its runners runs it."""

from __future__ import annotations

import threading

BEFORE_S = 5.0
"""Seconds that a batch that was given up has to end before the connector starts again."""
PATIENCE = 0.6
"""The part of the time for stopping that a running batch has to finish."""


def is_idle(busy: threading.Lock, timeout: float) -> bool:
    """Whether the connector's batch has ended, after `timeout` seconds at most."""
    if not busy.acquire(timeout=max(timeout, 0.0)):
        return False
    busy.release()
    return True
