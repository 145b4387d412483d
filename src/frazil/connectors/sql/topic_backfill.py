"""The statement of a connector over a span of its topics, into its topic: transactions beside those of the connector,
with a consumer group of their own, which tells that the rows are there."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

from frazil.clients.kafka import groups as kafka_groups
from frazil.connectors.backfill import BETWEEN, digest_of
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.topic_config import TopicSinkConfig
from frazil.connectors.sql.topic_task import SqlTopicTask
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport, Totals
from frazil.text.amounts import counted


@dataclass(frozen=True)
class TopicBackfill:
    """A span of the topics of a connector whose rows go to a topic, from `begin` to `end`."""

    own: StatementConfig
    config: TopicSinkConfig
    bootstrap: str
    begin: Offsets
    end: Offsets

    @property
    def named(self) -> TopicSinkConfig:
        """The configuration with a name and a group that are those of the statement and the span."""
        span = offsets.to_json(self.begin), offsets.to_json(self.end)
        told = f"{BETWEEN}{digest_of(self.own.digest, self.config.topic, *span)}"
        return replace(self.config, name=f"{self.config.name}{told}", group_id=f"{self.config.group_id}{told}")

    def standing(self) -> tuple[bool, list[str]]:
        """Tell whether the topic has the rows, and why rows may be there twice if they are sent."""
        keys = self.end.keys()
        known = kafka_groups.group_offsets(self.bootstrap, self.named.group_id, keys)
        if all(known.get(key, self.begin[key]) >= end for key, end in self.end.items()):
            return True, []
        connector = kafka_groups.group_offsets(self.bootstrap, self.config.group_id, keys)
        twice = sum(max(0, min(end, connector.get(key, 0)) - self.begin[key]) for key, end in self.end.items())
        are = "is" if twice == 1 else "are"
        behind = (
            f"{counted(twice, 'record')} of them {are} before the position of {self.config.name}, which has sent them"
        )
        return False, [behind] if twice else []

    def run(self, start: Callable[[TopicSinkConfig], SqlTopicTask]) -> Totals:
        """Send the rows, with a task that begins at `begin` or behind what was sent before. Raises as its steps do."""
        totals = Totals()

        def committed(report: BatchReport) -> None:
            nonlocal totals
            totals = totals.plus(report)

        with closing(start(self.named)) as task:
            while (due := task.due(self.end, round(time.time() * 1000))).ends:
                task.step(due, committed)
        return totals
