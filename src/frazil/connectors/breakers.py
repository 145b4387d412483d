"""Circuit breakers: a store that fails again and again is left alone for a while, then tried with care."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pybreaker

from frazil.errors import StoreUnavailable

logger = logging.getLogger(__name__)

FAILURES, OPEN_S, SUCCESSES = 5, 60, 3
"""Failures in a row that open a breaker, seconds until it is half-open, successes in a row that close it then."""
STATES = (pybreaker.STATE_CLOSED, pybreaker.STATE_OPEN, pybreaker.STATE_HALF_OPEN)

T = TypeVar("T")


class StoreBreaker:
    """The breaker of one connector's store; only StoreUnavailable is a failure. Used from one thread."""

    def __init__(self, connector: str, open_s: float = OPEN_S) -> None:
        self.open_s = open_s
        self._breaker = pybreaker.CircuitBreaker(
            fail_max=FAILURES,
            reset_timeout=open_s,
            success_threshold=SUCCESSES,
            exclude=[lambda error: not isinstance(error, StoreUnavailable)],
            listeners=[_Log(connector)],
            throw_new_error_on_trip=False,
        )

    @property
    def state(self) -> str:
        """State of the breaker, one of STATES; any thread may ask."""
        return str(self._breaker.current_state)

    def call(self, function: Callable[[], T]) -> T:
        """Call the function. Raises StoreUnavailable at once while the breaker is open."""
        try:
            result: T = self._breaker.call(function)
        except pybreaker.CircuitBreakerError:
            raise StoreUnavailable(
                f"the store has failed {FAILURES} times in a row, so it is not asked for {self.open_s:g} s; nothing is "
                "read meanwhile"
            ) from None
        return result


class _Log(pybreaker.CircuitBreakerListener):
    def __init__(self, connector: str) -> None:
        self._connector = connector

    def state_change(self, cb: Any, old_state: Any, new_state: Any) -> None:
        level = logging.INFO if new_state.name == pybreaker.STATE_CLOSED else logging.WARNING
        before = "" if old_state is None else f", it was {old_state.name}"
        logger.log(level, "connector %s: Circuit breaker of its store is %s%s", self._connector, new_state.name, before)


class Breakers:
    """The breakers of the connectors that run here; any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[str, StoreBreaker] = {}

    def of(self, connector: str) -> StoreBreaker:
        """The breaker of a connector's store, which stays while the connector is started again; new ones are closed."""
        with self._lock:
            return self._all.setdefault(connector, StoreBreaker(connector))

    def remove(self, connector: str) -> None:
        """Forget the breaker of a connector that has ended, if it has one."""
        with self._lock:
            self._all.pop(connector, None)

    def states(self) -> Mapping[str, str]:
        """The state of each connector's breaker."""
        with self._lock:
            return {connector: breaker.state for connector, breaker in self._all.items()}
