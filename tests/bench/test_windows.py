"""What the figures of windows count."""

from __future__ import annotations

import json
from datetime import datetime

from bench.windows import PAGES, clicks


def test_records_are_of_the_moments_at_which_they_are_due() -> None:
    found = [json.loads(value) for value in clicks(1_760_000_040.0, 200, 400)]
    assert [each["page"] for each in found[:2]] == [0, 1] and found[PAGES]["page"] == 0
    times = [datetime.fromisoformat(each["at"]).timestamp() for each in found]
    assert times == [1_760_000_040.0 + number / 200 for number in range(400)]
