from __future__ import annotations

import pytest

from frazil.connectors.iceberg.maintenance.policy import DAY_MS, Policy, Step
from frazil.errors import UsageError


def test_young_files_are_not_orphans_unless_forced() -> None:
    with pytest.raises(UsageError, match="younger than a day"):
        Policy(orphan_age_ms=DAY_MS - 1)
    assert Policy(orphan_age_ms=0, force=True).orphan_age_ms == 0
    assert Policy(steps=frozenset({Step.COMPACT}), orphan_age_ms=0).steps == {Step.COMPACT}


def test_a_snapshot_is_kept() -> None:
    with pytest.raises(UsageError, match="at least one snapshot"):
        Policy(keep_snapshots=0)
