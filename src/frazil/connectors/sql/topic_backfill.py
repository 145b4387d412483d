"""The statement of a connector over a span of its topics, into its topic: transactions beside those of the connector,
with a consumer group of their own, which tells that the rows are there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from frazil.clients.kafka import groups as kafka_groups
from frazil.connectors.backfill import Span
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.topic_config import TopicSinkConfig


@dataclass(frozen=True)
class TopicBackfill:
    """A span of the topics of a connector whose rows go to a topic."""

    own: StatementConfig
    config: TopicSinkConfig
    bootstrap: str
    span: Span

    @property
    def named(self) -> TopicSinkConfig:
        """The configuration with a name and a group that are those of the statement and the span."""
        told = self.span.name_of(self.own.digest, self.config.topic)
        return replace(self.config, name=f"{self.config.name}{told}", group_id=f"{self.config.group_id}{told}")

    def standing(self) -> tuple[bool, list[str]]:
        """Tell whether the topic has the rows, and why rows may be there twice if they are sent."""
        keys = self.span.end.keys()
        if self.span.is_before(kafka_groups.group_offsets(self.bootstrap, self.named.group_id, keys)):
            return True, []
        connector = kafka_groups.group_offsets(self.bootstrap, self.config.group_id, keys)
        return False, self.span.common({}, connector, f"before the position of {self.config.name}, which has sent them")
