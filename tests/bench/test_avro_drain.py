"""What the figures of Avro from a registry compare."""

from __future__ import annotations

from pathlib import Path

from bench.avro_drain import WAYS, sink_config
from bench.environment import bench_settings

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.pipeline.schemas.converter import RegistryConverter


def test_both_systems_get_the_same_configuration(tmp_path: Path) -> None:
    settings = bench_settings(tmp_path, {}, taken=lambda port: False)
    ours, theirs = (sink_config(settings, way, "db.t", "run") for way in WAYS[:2])
    assert {key for key in ours | theirs if ours.get(key) != theirs.get(key)} == {"connector.class", "tasks.max"}
    envelope = iceberg_sink_config({"name": "c", **ours}).envelope
    assert isinstance(envelope, RegistryConverter) and envelope.framing.width == 4
    assert iceberg_sink_config({"name": "c", **sink_config(settings, "frazil-json", "db.t", "run")}).envelope is None
