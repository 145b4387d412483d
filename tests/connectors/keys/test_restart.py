from __future__ import annotations

from frazil.connectors.keys.restart import Restarts, restarts


def test_the_first_wait_may_have_the_name_of_the_s3_sink() -> None:
    assert restarts({"retry.backoff.ms": "1500"}) == Restarts(wait_ms=1500)
    assert restarts({"retry.backoff.ms": " 0 "}) == Restarts(wait_ms=100)
    assert restarts({"retry.backoff.ms": "1500", "frazil.restart.backoff.ms": "700"}) == Restarts(wait_ms=700)


def test_values_that_cannot_be_used_are_left_out() -> None:
    values = {"retry.backoff.ms": "soon", "frazil.restart.backoff.ms": "1", "frazil.restart.attempts": "x"}
    assert restarts(values) == Restarts()
