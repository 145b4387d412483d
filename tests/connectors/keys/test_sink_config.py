from __future__ import annotations

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from tests.connectors.samples import MINIMAL_SINK


@pytest.mark.parametrize(
    ("level", "committed"),
    [(None, False), ("read_uncommitted", False), ("read_committed", True), (" read_committed ", True)],
)
def test_records_of_open_transactions_wait_where_the_user_says_so(level: str | None, committed: bool) -> None:
    more = {} if level is None else {"consumer.override.isolation.level": level}
    assert iceberg_sink_config({**MINIMAL_SINK, **more}).reads_committed is committed
