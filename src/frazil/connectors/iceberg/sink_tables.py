"""The tables of a running connector: a fixed list, or those that its records name."""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pyiceberg.catalog import Catalog

from frazil.connectors.iceberg.append import Append
from frazil.connectors.iceberg.changes.kept import HistoryOperation, LogOperation
from frazil.connectors.iceberg.changes.row_level import RowLevelOperation
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.config.table_rules import MOST_NEW
from frazil.connectors.iceberg.position import start_position
from frazil.connectors.iceberg.sink_table import SinkTable
from frazil.connectors.iceberg.table.commit import Floor, TableBranch
from frazil.connectors.iceberg.table.discover import existing, tables_with_position
from frazil.connectors.positions import KafkaIdentity
from frazil.connectors.sink import Runs
from frazil.errors import ConfigError, NotFound
from frazil.pipeline.executor import Executor
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.results import NewColumns

logger = logging.getLogger(__name__)

_OPERATIONS = {"replica": RowLevelOperation, "append": LogOperation, "history": HistoryOperation}
_IDLE_BATCHES = 20
"""Number of batches without a record, after which a table that records name is looked for only on demand."""


@dataclass
class SinkTables:
    """Tables of one connector; used from one thread, but for `branches`. `identity` is that of what is read now."""

    config: IcebergSinkConfig
    catalog: Catalog
    runs: Runs | None
    executor: Executor
    identity: KafkaIdentity = field(default_factory=KafkaIdentity)

    def __post_init__(self) -> None:
        self._known = {name: self._make(name) for name in self.config.tables}
        self._new = 0

    def floors(self) -> dict[str, Floor]:
        """The positions of the tables that are known from the beginning; raises as `SinkTable.start` does."""
        floors = {name: table.start() for name, table in self._known.items()}
        taken_over = any(floor.superseded for floor in floors.values())
        for name, table in self._known.items():
            table.started(floors[name], taken_over=taken_over)
        return floors if self.config.route is None else start_position.effective(floors)

    def remembered(self) -> dict[str, Floor]:
        """The positions of the tables that records have named, which are looked for in the whole catalog.

        None, with a warning, where the catalog does not list its tables. Raises ServiceUnavailable.
        """
        if not self.config.names_tables:
            return {}
        found: dict[str, Floor] = {}
        try:
            names = tables_with_position(self.catalog, self.config.name)
        except ConfigError as error:
            logger.warning(
                "connector %s has no position in its consumer group, and cannot ask its tables: %s. It begins where "
                "consumer.override.auto.offset.reset says",
                self.config.name,
                error,
            )
            return {}
        for name in names:
            target = self._make(name).target
            with suppress(NotFound):  # it was there a moment ago
                found[name] = target.floor(target.load(), self.config.name)
        return found

    def branches(self) -> dict[str, str]:
        """The tables that are known now, each with its branch; for any thread."""
        return {name: table.target.branch for name, table in tuple(self._known.items())}

    def known(self, name: str) -> SinkTable:
        """The table of that name, which is known from the beginning or was found since."""
        return self._known[name]

    def begin(self, position: Offsets) -> list[SinkTable]:
        """Return all known tables, for a batch that begins at the position."""
        for table in self._known.values():
            table.begin(position)
        return list(self._known.values())

    def find(self, names: Mapping[str, NewColumns], position: Offsets) -> tuple[list[SinkTable], str]:
        """Tables that records of this batch are the first to name, with their columns; they are known from now on.

        Where too many of them do not exist, with the reason to refuse the records of the others. Raises
        ServiceUnavailable, or ConfigError when the catalog refuses to list its tables.
        """
        chosen, closed = self._admitted(names)
        found = {name: self._make(name) for name in chosen}
        self._known |= found
        for name, table in found.items():
            table.begin(position)
            if self.config.auto_create:
                table.load(self.identity)
                if table.table is None and not table.refusal:
                    self._new += 1
                    table.create(names[name])
        return list(found.values()), closed

    def _admitted(self, names: Iterable[str]) -> tuple[list[str], str]:
        most, auto_create = self.config.max_new_tables, self.config.auto_create
        left = max(most - self._new, 0) if auto_create else most
        wanted = sorted(names)
        if len(wanted) <= left:
            return wanted, ""
        there = existing(self.catalog, wanted)
        new = [name for name in wanted if name not in there]
        done = "the connector has made since it started" if auto_create else "records of one batch may ask for"
        closed = f"it does not exist, and {MOST_NEW} allows {most:,} that {done}" if len(new) > left else ""
        return sorted([*there, *new[:left]]), closed

    def used(self, names: set[str]) -> None:
        """Forget tables that records have not named for long; these ones had records in the last batch."""
        if not self.config.names_tables:
            return
        for name, table in self._known.items():
            table.idle = 0 if name in names else table.idle + 1
        self._known = {name: table for name, table in self._known.items() if table.idle < _IDLE_BATCHES}

    def _make(self, name: str) -> SinkTable:
        config = self.config
        target = TableBranch(self.catalog, name, config.branch_of(name), config.connect_sink.properties, self.runs)
        if config.row_changes is None:
            return SinkTable(config, target, Append(config))
        operation = _OPERATIONS[config.row_changes.mode_of(name)]
        return SinkTable(config, target, operation(config, config.row_changes, self.executor))
