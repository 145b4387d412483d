"""The tables of a running connector: a fixed list, or those that its records name."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyiceberg.catalog import Catalog

from frazil.connectors.iceberg.changes.merging import Merging
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position import positions
from frazil.connectors.iceberg.strategy import Appending, Strategy
from frazil.connectors.iceberg.table.column_limits import first_columns
from frazil.connectors.iceberg.table.commit import Floor, KafkaIdentity, Runs, Target
from frazil.connectors.iceberg.table.create import EMPTY, create_table
from frazil.connectors.iceberg.table.job import MapperFor, discovery
from frazil.connectors.iceberg.work import Work
from frazil.errors import ConfigError, Fenced, FrazilError, NotFound
from frazil.pipeline.convert import infer
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.types import Type

logger = logging.getLogger(__name__)

_IDLE_BATCHES = 20
"""After so many batches without a record a table that records name is looked for only when one names it again."""


@dataclass
class _Known:
    """A table, and for how many batches it has had no record.

    `begun`: whether this connector has committed to it since Kafka Connect's sink did, or that never has. `behind`: its
    position at the start, when that is none or Kafka Connect's sink has taken the connector past it.
    """

    target: Target
    strategy: Strategy
    idle: int = 0
    begun: bool = False
    behind: Offsets | None = None


@dataclass
class Tables:
    """Used from one thread, but for `load`. `identity` is that of the cluster and topics that are read now."""

    config: IcebergSinkConfig
    catalog: Catalog
    mapper_for: MapperFor
    runs: Runs
    identity: KafkaIdentity = field(default_factory=KafkaIdentity)

    def __post_init__(self) -> None:
        self._known = {name: self._make(name) for name in self.config.tables}

    def _make(self, name: str) -> _Known:
        marks = self.config.connect_sink.properties
        target = Target(self.catalog, name, self.config.branch_of(name), marks, self.runs)
        changes = self.config.row_changes
        if changes is None:
            return _Known(target, Appending(self.config, self.mapper_for))
        return _Known(target, Merging(self.config, changes, self.mapper_for))

    def floors(self) -> dict[str, Floor]:
        """The positions of the tables that are known from the beginning, with their branches made where they lack.

        Raises as `Target.with_branch` does, and ConfigError for a table that cannot be written as configured.
        """
        floors = {name: self._floor(known) for name, known in self._known.items()}
        taken_over = any(floor.superseded for floor in floors.values())
        for name, known in self._known.items():
            known.begun = bool(floors[name].offsets) and not floors[name].superseded
            known.behind = floors[name].offsets if taken_over or not known.begun else None
        return floors if self.config.route is None else positions.effective(floors)

    def _floor(self, known: _Known) -> Floor:
        try:
            table = known.target.with_branch(known.target.load())
        except NotFound:
            if self.config.auto_create:
                return Floor()
            raise
        known.strategy.check(table)
        return known.target.floor(table, self.config.name)

    def branches(self) -> dict[str, str]:
        """The tables that are known now, each with its branch; for any thread."""
        return {name: known.target.branch for name, known in tuple(self._known.items())}

    def works(self, begin: Offsets) -> list[Work]:
        """One for each table that is known, for a batch that begins there."""
        return [self._work(known, begin) for known in self._known.values()]

    def _work(self, known: _Known, begin: Offsets) -> Work:
        return Work(begin, target=known.target, strategy=known.strategy, discover=discovery(self.config))

    def load(self, work: Work, begin: Offsets) -> None:
        """Read a table and its position as they are now.

        A table that does not exist is to be created; if that may not be, or it cannot be written, it refuses its
        records where they name it. Raises NotFound for any other, ConfigError, PositionLost, CommitConflict when
        the table was rolled back, Fenced when Kafka Connect's sink writes to it too, and as `Target.load` does.
        """
        connector = self.config.name
        try:
            work.table = work.target.with_branch(work.target.load())
        except NotFound as error:
            if self.config.auto_create:
                work.table, work.floor = None, Floor()
            else:
                self._refuse(work, error)
            return
        try:
            work.strategy.check(work.table)
        except ConfigError as error:
            self._refuse(work, error)
            return
        work.floor, work.refusal = work.target.floor(work.table, connector), ""
        taken_over = self._taken_over(self._known[work.name], work.floor)
        if self._named_by_records:
            positions.check_identity(work.name, work.floor.identity, self.identity)
            if work.floor.rolled_back:
                logger.warning(
                    "connector %s: table %s was rolled back. What it lost is not stored again, unless the offsets of "
                    "the connector are moved back",
                    connector,
                    work.name,
                )
        elif (self.config.route is None or work.floor.rolled_back) and not taken_over:
            work.check_rollback(begin)

    def _taken_over(self, known: _Known, floor: Floor) -> bool:
        """Whether the position is one that Kafka Connect's sink has gone on from, before this start.

        Raises Fenced when that sink commits beside this connector.
        """
        has_committed = known.begun or known.behind not in (None, floor.offsets)
        if floor.superseded and has_committed:
            raise Fenced(
                f"Kafka Connect's sink has committed to {known.target.name} for connector {self.config.name} while it "
                "runs here; nothing of this batch is in the table, but what both had read before may be in it twice. "
                "Stop the connector in Kafka Connect, then restart this one."
            )
        if floor.superseded or floor.offsets == known.behind:
            return True
        known.begun, known.behind = bool(floor.offsets), None
        return False

    def create(
        self, work: Work, columns: Mapping[infer.Path, Type], seen: Mapping[infer.Path, int] | None = None
    ) -> None:
        """Make a table that does not exist; without columns it refuses its records. Raises as `create_table` does."""
        if columns:
            create_table(self.catalog, work.name, first_columns(self.config, columns), self.config.creation, seen)
            logger.info("connector %s has created table %s", self.config.name, work.name)
        else:
            work.refusal = EMPTY

    def _refuse(self, work: Work, error: FrazilError) -> None:
        """The table can have no record; raises the error again where the table is one that has to be there."""
        if not self._named_by_records:
            raise error
        work.table, work.floor, work.refusal = None, Floor(), str(error)

    def find(self, names: Mapping[str, Mapping[infer.Path, Type]], begin: Offsets) -> list[Work]:
        """Tables that records of this batch are the first to name; they are known from now on."""
        found = {name: self._make(name) for name in names}
        self._known |= found
        works = [self._work(known, begin) for known in found.values()]
        if self.config.auto_create:
            for work in works:
                self.load(work, begin)
                if work.table is None:
                    self.create(work, names[work.name])
        return works

    def used(self, names: set[str]) -> None:
        """Forget tables that records have not named for long; these ones had records in the last batch."""
        if not self._named_by_records:
            return
        for name, known in self._known.items():
            known.idle = 0 if name in names else known.idle + 1
        self._known = {name: known for name, known in self._known.items() if known.idle < _IDLE_BATCHES}

    @property
    def _named_by_records(self) -> bool:
        return self.config.route is not None and self.config.route.names_tables
