from __future__ import annotations

from typing import Any

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.iceberg.tools.replay_routes import Routed, routed
from tests.connectors.samples import MINIMAL_SINK
from tests.pipeline.test_task import batch

ROUTED: dict[str, Any] = MINIMAL_SINK | {
    "iceberg.tables": "db.a,db.b",
    "iceberg.tables.route-field": "k",
    "iceberg.table.db.a.route-regex": "a|both",
    "iceberg.table.db.b.route-regex": "b|both",
}


def where(config: dict[str, str], *values: bytes | None) -> Routed:
    rows = batch([(value, "t", 0, offset) for offset, value in enumerate(values)])
    return routed(rows, iceberg_sink_config(config))


def test_dead_letters_find_their_tables() -> None:
    found = where(ROUTED, b'{"k":"a"}', b'{"k":"both"}', b'{"k":"c"}', b'{"k"', None)
    assert found.tables == {0: ["db.a"], 1: ["db.a", "db.b"], 2: [], 3: [], 4: []}
    assert list(found.failed) == [3]
    assert found.failed[3].startswith("the value is not JSON")


def test_transformations_come_first() -> None:
    config = ROUTED | {
        "transforms": "x",
        "transforms.x.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.x.field": "after",
    }
    found = where(config, b'{"after":{"k":"b"}}', b"5", b'{"after":null}')
    assert found.tables == {0: ["db.b"], 1: [], 2: []}
    assert list(found.failed) == [1]
    assert "transformation x" in found.failed[1]
