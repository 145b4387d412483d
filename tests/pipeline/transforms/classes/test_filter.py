from __future__ import annotations

from tests.pipeline.transforms.chains import applied, chain


def test_no_record_goes_on() -> None:
    assert applied(chain(("Filter", {})), b"{}") is None
