from __future__ import annotations

from frazil.pipeline.transforms.registry import TRANSFORMATIONS


def test_what_is_not_refused_is_applied_or_says_that_it_changes_nothing() -> None:
    inert = [plugin for plugin in TRANSFORMATIONS.values() if plugin.build is None and not plugin.refused]

    assert inert == []
