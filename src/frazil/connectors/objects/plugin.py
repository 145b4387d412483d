"""The connector classes of the object sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.connectors.objects.config.object_sink import object_sink_definition, parse_object_sink
from frazil.connectors.plugin import ConnectorPlugin
from frazil.declare.definition import Parsed
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings

if TYPE_CHECKING:
    from frazil.connectors.objects.sink import ObjectSink


def _open(config: Mapping[str, str], settings: Settings, cluster: Bootstrap) -> ObjectSink:
    from frazil.connectors.objects.sink import ObjectSink

    return ObjectSink(config, settings, cluster)


def gathered(parsed: Parsed) -> int:
    """Records of a partition that are stored together; 0 where the clock stores them before there are so many."""
    size = parsed.values.get("flush.size")
    scheduled = parsed.values.get("rotate.schedule.interval.ms")
    return size if isinstance(size, int) and not (isinstance(scheduled, int) and scheduled > 0) else 0


PLUGINS = tuple(
    ConnectorPlugin(
        name,
        object_sink_definition,
        parse_object_sink,
        _open,
        holds_position=True,
        gathers=lambda config: gathered(parse_object_sink(config)),
    )
    for name in ("io.confluent.connect.s3.S3SinkConnector", "frazil.ObjectSinkConnector")
)
