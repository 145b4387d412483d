"""Marks of log records that are events: what an operator asks for days later."""

from typing import Any

KEPT = 5000
"""Events that a worker tells; its files have a few times as many at most."""


def event(kind: str, connector: str = "", **labels: Any) -> dict[str, Any]:
    """Make the `extra` of a log record that is kept as an event of a connector, or of the worker without one."""
    return {"event": kind, "labels": {**({"connector": connector} if connector else {}), **labels}}
