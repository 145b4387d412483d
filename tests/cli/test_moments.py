from __future__ import annotations

from datetime import UTC, datetime

import pytest

from frazil.cli.moments import point_in_time
from frazil.errors import UsageError


def test_times() -> None:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    assert point_in_time("24h", now) == datetime(2026, 3, 1, tzinfo=UTC)
    assert point_in_time("2026-03-01T01:00:00+01:00", now) == datetime(2026, 3, 1, tzinfo=UTC)
    assert point_in_time("2026-03-01", now) == datetime(2026, 3, 1, tzinfo=UTC)
    for wrong in ("999999w", "-1h", "h", "1y"):
        with pytest.raises(UsageError, match="is no time"):
            point_in_time(wrong, now)
