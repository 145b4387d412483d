from __future__ import annotations

from pathlib import Path

from bench.environment import bench_settings
from bench.peer import worker_properties


def test_a_worker_has_topics_of_its_own_and_listens_on_loopback(tmp_path: Path) -> None:
    settings = bench_settings(tmp_path, {}, taken=lambda port: False)
    one, two = (worker_properties(settings, group, tmp_path) for group in ("a", "b"))
    own = {"group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"}
    assert {key for key in one if one[key] != two[key]} == own
    assert one["listeners"] == f"http://127.0.0.1:{settings.connect_port}"
    assert settings.secret_key not in one.values()
