"""Spark that is started when it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frazil.engine import spark
from frazil.engine.on_demand import spark_on_demand
from tests.engine.session import Session
from tests.isolation import isolated_settings


def test_spark_starts_once_at_the_first_use_and_stops_behind_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    session: Any = Session()

    def start(settings: Any) -> Any:
        seen.append("start")
        return session

    monkeypatch.setattr(spark, "start", start)
    monkeypatch.setattr(spark, "stop", lambda found: seen.append("stop"))
    settings = isolated_settings(tmp_path)
    with spark_on_demand(settings, "c"):
        pass
    assert seen == []
    with spark_on_demand(settings, "c") as executor:
        assert executor() is executor()
        assert executor().in_session(lambda found: found, "a look") is session
        assert seen == ["start"]
    assert seen == ["start", "stop"]
