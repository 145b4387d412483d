"""The SQL sink for a topic: the rows that a statement makes of records; see `frazil.connectors.sink.Sink`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.checks.compare import Limits, Progress
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.dead_letters import dead_letter_queue
from frazil.connectors.plan import Plan
from frazil.connectors.positions import Changes, alter_group, check_changes
from frazil.connectors.sink import Replayer, Sink, SinkContext
from frazil.connectors.source import task_source
from frazil.connectors.sql.config import sql_topic_config
from frazil.connectors.sql.refusals import no_replay, no_verify
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import scanned_topics
from frazil.connectors.sql.topic_config import TopicSinkConfig
from frazil.connectors.sql.topic_task import SqlTopicTask
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.log import Queue


class SqlTopicSink(Sink):
    """A connector whose statement makes the records of a topic."""

    def __init__(self, config: Mapping[str, str], settings: Settings, bootstrap: Bootstrap) -> None:
        """Raises ConfigError for a configuration that cannot run."""
        self._config, self._own = sql_topic_config(config)
        self._class = config.get("connector.class", "")
        self._bootstrap = bootstrap

    @property
    def config(self) -> TopicSinkConfig:
        """See `Sink`."""
        return self._config

    def start(self, context: SinkContext, topics: Sequence[str]) -> SqlTopicTask:
        """See `Sink`."""
        headers = "_headers" in self._own.statement.metadata
        source = task_source(self._config, self._bootstrap, headers=headers)
        queue = dead_letter_queue(self._config, self._bootstrap, self._class, topics, self._config.topic)
        return SqlTopicTask(self._own, self._config, self._bootstrap, topics, source, queue, context)

    def alter(self, changes: Changes | None) -> list[str]:
        """See `Sink`."""
        remarks: list[str] = []
        moves = None if changes is None else check_changes(self._bootstrap, changes, remarks)
        alter_group(self._bootstrap, self._config.group_id, moves)
        remarks.append("Rows of records that are read again are sent again.")
        return remarks

    def problems(self) -> list[str]:
        """See `Sink`: the topic has to be there."""
        topic = self._config.topic
        there = topic in kafka_topics.topics(self._bootstrap)
        return [] if there else [f"There is no topic {topic}; `topics create {topic}` makes it."]

    def explain(self, say: Callable[[str], None], on_spark: Callable[[], Executor]) -> Plan:
        """See `Sink`."""
        say("starting Spark")
        topics = scanned_topics(self._config, self._own)
        return StatementRuns(self._own.statement, topics, on_spark(), list[pa.Table]).plan

    def verify(self, limits: Limits, progress: Progress) -> list[RangeCheck]:
        """See `Sink`."""
        raise no_verify(self.name)

    def replayer(self, queues: Sequence[Queue], *, dry_run: bool) -> Replayer:
        """See `Sink`."""
        raise no_replay(self.name)
