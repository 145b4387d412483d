"""The SQL sink for a topic: the rows that a statement makes of records; see `frazil.connectors.sink.Sink`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.backfill import Backfill, Span, span_of
from frazil.connectors.dead_letters import dead_letter_queue
from frazil.connectors.positions import Changes, alter_group, check_changes
from frazil.connectors.sink import SinkContext
from frazil.connectors.source import task_source, topics_of
from frazil.connectors.sql.config import StatementConfig, sql_topic_config
from frazil.connectors.sql.statement_sink import StatementSink
from frazil.connectors.sql.topic_config import TopicSinkConfig
from frazil.connectors.sql.topic_task import SqlTopicTask
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.pipeline.executor import Executor
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import Totals


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
        return self._config

    @property
    def _target_name(self) -> str:
        return self._config.topic

    def start(self, context: SinkContext, topics: Sequence[str]) -> SqlTopicTask:
        self.look_for_newer_schemas()
        return self._task(self._config, context, topics)

    def _task(
        self, config: TopicSinkConfig, context: SinkContext, topics: Sequence[str], begin: Offsets | None = None
    ) -> SqlTopicTask:
        source = task_source(config, self._bootstrap, headers=self._reads_headers)
        queue = dead_letter_queue(config, self._bootstrap, self._class, topics, config.topic)
        return SqlTopicTask(self._own, config, self._bootstrap, topics, source, queue, context, begin)

    def backfill(self, since_ms: int | None, until_ms: int | None, table: str = "") -> Backfill:
        if table:
            raise UsageError(f"rows of table {table} can be stored in an Iceberg table only. Nothing was sent")
        config, bootstrap = self._config, self._bootstrap
        topics = topics_of(config, bootstrap)
        span = span_of(config, bootstrap, topics, since_ms, until_ms)
        found = TopicBackfill(self._own, config, bootstrap, span)
        done, remarks = found.standing()

        def run(executor: Executor) -> Totals:
            context = SinkContext(executor, at_once=True)
            return self._task(found.named, context, topics, span.begin).store(span.end)

        return Backfill(found.named.name, f"topic {config.topic}", span.ranges, done, remarks, run)

    def alter(self, changes: Changes | None) -> list[str]:
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
