"""Circuit breakers: opened by failures of the store alone, tried with care, closed again."""

from __future__ import annotations

import logging
import time

import pytest

from frazil.connectors.breakers import FAILURES, SUCCESSES, Breakers, StoreBreaker
from frazil.errors import BadRecord, StoreUnavailable
from tests.waits import PATIENCE_S

OPEN_S = 0.05


def fails() -> None:
    raise StoreUnavailable("503")


def is_bad() -> None:
    raise BadRecord("bad")


def opened(open_s: float = OPEN_S) -> StoreBreaker:
    breaker = StoreBreaker("c", open_s)
    for _ in range(FAILURES):
        assert breaker.state == "closed"
        with pytest.raises(StoreUnavailable, match="^503$"):
            breaker.call(fails)
    assert breaker.state == "open"
    return breaker


def test_it_opens_and_the_store_is_left_alone() -> None:
    breaker = opened(PATIENCE_S)
    asked: list[int] = []
    with pytest.raises(StoreUnavailable, match="failed 5 times in a row, so it is not asked for 300 s"):
        breaker.call(lambda: asked.append(1))
    assert asked == []


def test_it_closes_after_three_successes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    breaker = opened()
    time.sleep(OPEN_S)
    for _ in range(SUCCESSES - 1):
        assert breaker.call(lambda: "stored") == "stored"
        assert breaker.state == "half-open"
    breaker.call(lambda: "stored")
    assert breaker.state == "closed"
    said = [record.getMessage() for record in caplog.records]
    assert said[-1] == "connector c: Circuit breaker of its store is closed, it was half-open"


def test_a_failure_while_it_is_half_open_opens_it_again() -> None:
    breaker = opened()
    time.sleep(OPEN_S)
    breaker.call(lambda: None)
    with pytest.raises(StoreUnavailable, match="^503$"):
        breaker.call(fails)
    assert breaker.state == "open"


def test_other_failures_are_none_of_the_store() -> None:
    breaker = StoreBreaker("c")
    for _ in range(FAILURES + 1):
        with pytest.raises(BadRecord):
            breaker.call(is_bad)
    assert breaker.state == "closed"


def test_each_connector_has_its_own() -> None:
    breakers = Breakers()
    first = breakers.of("a")
    breakers.of("b")
    for _ in range(FAILURES):
        with pytest.raises(StoreUnavailable):
            first.call(fails)
    assert breakers.states() == {"a": "open", "b": "closed"}
    assert breakers.of("a") is first
    breakers.remove("a")
    assert breakers.states() == {"b": "closed"}
    breakers.remove("a")
    assert breakers.of("a").state == "closed"
