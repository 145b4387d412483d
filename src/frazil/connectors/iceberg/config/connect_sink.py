"""Places where Kafka Connect's own Iceberg sink keeps the state of a connector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from frazil.declare.definition import Parsed

_APACHE = "org.apache."


@dataclass(frozen=True)
class ConnectSink:
    """A connector as Kafka Connect runs it.

    `groups` are the consumer groups that hold its position in the topics that it reads, the one that counts first;
    their names stand in its events on `control_topic` and in the snapshots that it commits.
    """

    control_topic: str
    groups: tuple[str, ...]

    @property
    def properties(self) -> tuple[str, ...]:
        """Properties of a snapshot by which it can be told that the sink has made it."""
        return tuple(map(self.property_of, self.groups))

    def property_of(self, group: str) -> str:
        """Name of a group's property, whose value is the position on the control topic: `{partition: next offset}`."""
        return f"kafka.connect.offsets.{self.control_topic}.{group}"


def connect_sink(name: str, config: Mapping[str, str], parsed: Parsed, group: str) -> ConnectSink:
    """The sink of the generation that the class names; `group` is the consumer group of the connector.

    The sink of `io.tabular` trusts a control group and falls back to the consumer group; that of Apache has no other
    than the consumer group.
    """
    control = parsed.text("iceberg.control.group-id").strip() or f"cg-control-{name}"
    one = config.get("connector.class", "").startswith(_APACHE)
    return ConnectSink(parsed.text("iceberg.control.topic"), (group,) if one else (control, group))
