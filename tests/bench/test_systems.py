from __future__ import annotations

from pathlib import Path

from bench.environment import bench_settings
from bench.systems import FRAZIL, PEER_1, PEER_2, sink_config


def test_the_systems_get_the_same_configuration_but_for_class_and_tasks(tmp_path: Path) -> None:
    settings = bench_settings(tmp_path, {}, taken=lambda port: False)
    frazil, one, two = (
        sink_config(settings, system, "api", "records", "streaming.target", "run")
        for system in (FRAZIL, PEER_1, PEER_2)
    )
    assert frazil["topics"] == "records"
    assert frazil["iceberg.tables"] == "streaming.target"
    assert frazil["iceberg.control.commit.interval-ms"] == "10000"
    assert frazil["iceberg.control.commit.timeout-ms"] == "60000"
    assert {key for key in frazil if frazil[key] != one[key]} == {"connector.class", "tasks.max"}
    assert {key for key in one if one[key] != two[key]} == {"tasks.max"}
    assert (one["tasks.max"], two["tasks.max"]) == ("1", "2")
