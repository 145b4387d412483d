from __future__ import annotations

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from tests.connectors.samples import SEED_SINK

NAME = "iceberg-sink-apilogs"
BOTH = (f"cg-control-{NAME}", f"connect-{NAME}")


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        ({}, BOTH),
        ({"connector.class": "IcebergSinkConnector"}, BOTH),
        ({"connector.class": "org.apache.iceberg.connect.IcebergSinkConnector"}, BOTH[1:]),
        ({"iceberg.control.group-id": "own"}, ("own", BOTH[1])),
        ({"consumer.override.group.id": "mine"}, (BOTH[0], "mine")),
    ],
)
def test_where_each_generation_has_its_position(keys: dict[str, str], groups: tuple[str, ...]) -> None:
    sink = iceberg_sink_config({**SEED_SINK, "name": NAME, **keys}).connect_sink
    assert (sink.control_topic, sink.groups) == ("control-iceberg", groups)
    assert sink.properties[0] == f"kafka.connect.offsets.control-iceberg.{groups[0]}"
