from __future__ import annotations

import pytest

from frazil.clients.calls import CALLS, Service, timed


def counts(service: Service) -> dict[str, float]:
    return {
        sample.labels["result"]: sample.value
        for metric in CALLS.collect()
        for sample in metric.samples
        if sample.name.endswith("_count") and sample.labels["service"] == service
    }


@pytest.mark.parametrize(("status", "result"), [(200, "done"), (404, "done"), (401, "failed"), (503, "failed")])
def test_a_call_is_done_or_has_failed_by_its_answer(status: int, result: str) -> None:
    before = counts("registry")
    with timed("registry") as call:
        call.answered(status)
    assert counts("registry") == before | {result: before.get(result, 0) + 1}


def test_a_call_without_an_answer_has_failed() -> None:
    before = counts("store").get("failed", 0)
    with pytest.raises(OSError, match="away"), timed("store"):
        raise OSError("away")
    assert counts("store")["failed"] == before + 1
