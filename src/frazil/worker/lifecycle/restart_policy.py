"""Restarts of a connector that failed: how many, and after which waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from frazil.connectors.keys.restart import restarts


@dataclass(frozen=True)
class RestartPolicy:
    """Waits before a connector that failed with a TransientError is started again, in seconds, doubling each time.

    A connector that ran for `healthy_s` starts again from the first wait. `fenced` is how many failures in a row may be
    Fenced and are tried again as well: in a group of workers, the one before may still have stored its last batch.
    """

    first_s: float = 1.0
    longest_s: float = 60.0
    healthy_s: float = 120.0
    fenced: int = 0
    attempts: int | None = None
    """Failures in a row after which it stays FAILED; None: it is started again until it runs."""

    def of(self, config: Mapping[str, str]) -> RestartPolicy:
        """The policy with what a connector's own keys say instead."""
        own = restarts(config)
        return RestartPolicy(
            self.first_s if own.wait_ms is None else own.wait_ms / 1000,
            self.longest_s if own.longest_wait_ms is None else own.longest_wait_ms / 1000,
            self.healthy_s,
            self.fenced,
            self.attempts if own.attempts is None else own.attempts if own.attempts >= 0 else None,
        )

    def passes(self, failures: int, transient: bool, fenced: bool) -> bool:
        """Whether the connector is started again after so many failures in a row."""
        if fenced:
            return failures <= self.fenced
        return transient and (self.attempts is None or failures <= self.attempts)

    def wait_s(self, failures: int) -> float:
        """The wait after so many failures in a row (the first failure is 1)."""
        return min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, 30))
