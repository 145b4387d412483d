"""The object sink: objects in a bucket, or files of a Delta table; see `frazil.connectors.sink.Sink`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from frazil.clients.credentials import with_store_access
from frazil.clients.objects import ObjectStore
from frazil.connectors.checks.compare import Check, Limits, Part, Progress, compare
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.dead_letters import dead_letter_queue
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig, object_sink_config
from frazil.connectors.objects.positions import Committed
from frazil.connectors.objects.schema_file import SchemaFile, schema_object
from frazil.connectors.objects.sink_task import ObjectSinkTask
from frazil.connectors.objects.stored_positions import StoredPositions, positions_object
from frazil.connectors.objects.verify import ObjectCheck
from frazil.connectors.positions import Changes, alter_group, check_changes
from frazil.connectors.sink import Concern, Sink, SinkContext
from frazil.connectors.source import task_source
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.source import Source

if TYPE_CHECKING:
    from frazil.connectors.objects.delta.table import DeltaTarget

_PROBE = b"{}"


class ObjectSink(Sink):
    """A connector that writes objects."""

    def __init__(self, config: Mapping[str, str], settings: Settings, bootstrap: Bootstrap) -> None:
        """Raises ConfigError for a configuration that cannot run."""
        self._config = self._parsed(config)
        self._class = config.get("connector.class", "")
        self._bootstrap = bootstrap
        self._store = ObjectStore(with_store_access(self._config.store, settings))

    def _parsed(self, config: Mapping[str, str]) -> ObjectSinkConfig:
        return object_sink_config(config)

    @property
    def config(self) -> ObjectSinkConfig:
        return self._config

    def start(self, context: SinkContext, topics: Sequence[str]) -> ObjectSinkTask:
        config = self._config
        source = task_source(config, self._bootstrap, headers=self._reads_headers)
        schema = None
        if config.json_schema is not None:
            place = schema_object(config.layout, config.name)
            schema = SchemaFile(config.json_schema, place, self._store, config.name)
        dead_letters = dead_letter_queue(config, self._bootstrap, self._class, topics, self._target())
        return self._task(topics, source, dead_letters, context, schema)

    def _task(
        self,
        topics: Sequence[str],
        source: Source,
        dead_letters: DeadLetterQueue | None,
        context: SinkContext,
        schema: SchemaFile | None,
    ) -> ObjectSinkTask:
        stored, table = self._stored_positions(), self._table()
        return ObjectSinkTask(
            self._config,
            self._bootstrap,
            topics,
            source,
            dead_letters,
            self._store,
            stored,
            context,
            schema,
            table,
        )

    def alter(self, changes: Changes | None) -> list[str]:
        """See `Sink`: the position is stored beside the objects, and the consumer group has a copy.

        A Delta table keeps its own position, so the connector's topics have to stay those that it is of.
        """
        stored = self._stored_positions()
        state = stored.load()
        remarks: list[str] = []
        moves = None if changes is None else check_changes(self._bootstrap, changes, remarks)
        stored.keep(state.altered(moves, keeps_ids=self._config.delta is not None))
        alter_group(self._bootstrap, self._config.group_id, moves)
        remarks.append("Objects that are stored stay, and get the same content when their records are read again.")
        remarks.append("Those of a topic that was made again are replaced by objects of the same names.")
        return remarks

    def problems(self) -> list[str]:
        """See `Sink`: the bucket has to be there, and to be ours to use."""
        self._store.check()
        return []

    def concerns(self) -> list[Concern]:
        """See `Sink`. A small object beside the position tells whether the store keeps conditions of puts."""
        probe = positions_object(self._config.layout, f"{self._config.name}.probe")
        self._store.put(probe, BytesIO(_PROBE), len(_PROBE), ())
        if self._store.keeps_conditions(probe, _PROBE):
            return []
        return [
            Concern(
                f"the store of bucket {self._config.store.bucket} ignores conditions of puts (If-None-Match)",
                "a second worker that runs the connector by mistake is noticed a little later, and Delta tables are "
                "refused",
                "use a store, or a release of it, that has conditional puts",
            )
        ]

    def verify(self, limits: Limits, progress: Progress) -> list[RangeCheck]:
        table = self._table()

        def check(part: Part) -> Check:
            if table is None:
                return ObjectCheck(self._config, part, self._store)
            from frazil.connectors.objects.delta.verify import DeltaCheck

            return DeltaCheck(self._config, part, table)

        return compare(
            self._config,
            self._bootstrap,
            self._class,
            limits,
            progress,
            position=partial(self._reached, table),
            check=check,
        )

    def _reached(self, table: DeltaTarget | None, partitions: Collection[TopicPartition]) -> Offsets:
        """Find the position of partitions, where there is one."""
        if table is not None:
            return table.start(list(partitions))
        committed = Committed.of(self._bootstrap, self._config.group_id, partitions)
        return {key: place.offset for key, place in committed.over(self._stored_positions().load()).items()}

    def _stored_positions(self) -> StoredPositions:
        name = positions_object(self._config.layout, self._config.name)
        return StoredPositions(name, self._store, self._config.name)

    def _target(self) -> tuple[str | None, ...]:
        store = self._config.store
        return store.endpoint, store.bucket, self._config.layout.topics_dir, store.access_key, store.secret_key

    def _table(self) -> DeltaTarget | None:
        """The table of a connector that writes one."""
        if self._config.delta is None:
            return None
        from frazil.connectors.objects.delta.table import delta_target

        return delta_target(self._config, self._store.config)
