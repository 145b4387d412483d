"""The SQL sink for a topic: the rows that a statement makes of records; see `frazil.connectors.sink.Sink`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.dead_letters import dead_letter_queue
from frazil.connectors.positions import Changes, alter_group, check_changes
from frazil.connectors.sink import SinkContext
from frazil.connectors.source import task_source
from frazil.connectors.sql.config import sql_topic_config
from frazil.connectors.sql.statement_sink import StatementSink
from frazil.connectors.sql.topic_config import TopicSinkConfig
from frazil.connectors.sql.topic_task import SqlTopicTask
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings


class SqlTopicSink(StatementSink):
    """A connector whose statement makes the records of a topic."""

    def __init__(self, config: Mapping[str, str], settings: Settings, bootstrap: Bootstrap) -> None:
        """Raises ConfigError for a configuration that cannot run."""
        self._config, own = sql_topic_config(config)
        self._own = own.loaded(settings)
        self._class = config.get("connector.class", "")
        self._bootstrap = bootstrap

    @property
    def config(self) -> TopicSinkConfig:
        """See `Sink`."""
        return self._config

    @property
    def _target_name(self) -> str:
        """See `StatementSink`."""
        return self._config.topic

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
