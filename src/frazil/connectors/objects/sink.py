"""The object sink: objects in a bucket, or files of a Delta table; see `frazil.connectors.sink.Sink`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from frazil.clients.credentials import with_store_access
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.objects import ObjectStore
from frazil.connectors.checks.compare import Check, Limits, Part, Progress, compare
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.dead_letters import dead_letter_queue
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig, object_sink_config
from frazil.connectors.objects.known_topics import KnownTopics, topics_object
from frazil.connectors.objects.schema_file import SchemaFile, schema_object
from frazil.connectors.objects.sink_task import ObjectSinkTask
from frazil.connectors.objects.verify import ObjectCheck
from frazil.connectors.positions import Changes, alter_group, check_changes
from frazil.connectors.sink import Sink, SinkContext
from frazil.connectors.source import task_source
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.pipeline.offsets import Offsets

if TYPE_CHECKING:
    from frazil.connectors.objects.delta.table import DeltaTarget


class ObjectSink(Sink):
    """A connector that writes objects."""

    def __init__(self, config: Mapping[str, str], settings: Settings, bootstrap: Bootstrap) -> None:
        """Raises ConfigError for a configuration that cannot run."""
        self._config = object_sink_config(config)
        self._class = config.get("connector.class", "")
        self._bootstrap = bootstrap
        self._store = ObjectStore(with_store_access(self._config.store, settings))

    @property
    def config(self) -> ObjectSinkConfig:
        """See `Sink`."""
        return self._config

    def start(self, context: SinkContext, topics: Sequence[str]) -> ObjectSinkTask:
        """See `Sink`."""
        config = self._config
        source = task_source(config, self._bootstrap, headers=config.reads_headers)
        schema = None
        if config.json_schema is not None:
            place = schema_object(config.layout, config.name)
            schema = SchemaFile(config.json_schema, place, self._store, config.name)
        return ObjectSinkTask(
            config,
            self._bootstrap,
            topics,
            source,
            dead_letter_queue(config, self._bootstrap, self._class, topics),
            self._store,
            self._known_topics(),
            context,
            schema,
            self._table(),
        )

    def alter(self, changes: Changes | None) -> list[str]:
        """See `Sink`: the position is in the consumer group, and which topics it is of beside the objects.

        A Delta table keeps its own position, so the connector's topics have to stay those that it is of.
        """
        known = self._known_topics()
        is_delta = self._config.delta is not None
        if not is_delta:
            known.load()
        remarks: list[str] = []
        moves = None if changes is None else check_changes(self._bootstrap, changes, remarks)
        alter_group(self._bootstrap, self._config.group_id, moves)
        if not is_delta:
            altered = None if changes is None else {topic for topic, _ in changes}
            known.forget(altered, {} if moves is None else moves.now.topic_ids)
        remarks.append("Objects that are stored stay, and get the same content when their records are read again.")
        remarks.append("Those of a topic that was made again are replaced by objects of the same names.")
        return remarks

    def verify(self, limits: Limits, progress: Progress) -> list[RangeCheck]:
        """See `Sink`."""
        table = self._table()

        def position(first: Offsets) -> Offsets:
            if table is None:
                return kafka_groups.group_offsets(self._bootstrap, self._config.group_id, first)
            return table.start(list(first))

        def check(part: Part) -> Check:
            if table is None:
                return ObjectCheck(self._config, part, self._store)
            from frazil.connectors.objects.delta.verify import DeltaCheck

            return DeltaCheck(self._config, part, table)

        return compare(self._config, self._bootstrap, self._class, limits, progress, position=position, check=check)

    def _known_topics(self) -> KnownTopics:
        return KnownTopics(topics_object(self._config.layout, self._config.name), self._store)

    def _table(self) -> DeltaTarget | None:
        """The table of a connector that writes one."""
        if self._config.delta is None:
            return None
        from frazil.connectors.objects.delta.table import delta_target

        return delta_target(self._config, self._store.config)
