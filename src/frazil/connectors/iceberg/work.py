"""The state of one table, and of the records that go to none, while a micro-batch is stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pyiceberg.table import Table

from frazil.connectors.iceberg.pieces import before
from frazil.connectors.iceberg.strategy import Strategy
from frazil.connectors.iceberg.table.commit import Floor, Target
from frazil.errors import CommitConflict
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.gaps import Before
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.task import ANY_COLUMNS, Bounds, TableSpec


@dataclass
class Progress:
    """How far a batch is done, up to `reached`; `bad` are records that may not be passed."""

    reached: Offsets
    bad: list[DeadLetter] = field(default_factory=list)

    def low(self, ceiling: Offsets) -> Offsets:
        """Where to read on, for each partition of `ceiling`."""
        return {key: self.reached.get(key, 0) for key in ceiling}

    def cap(self, ceiling: Offsets) -> Offsets:
        """The ceiling, lowered to before the first bad record of each partition."""
        return before(self.bad, ceiling) if self.bad else ceiling

    def is_done(self, ceiling: Offsets) -> bool:
        """Whether all below the ceiling is done."""
        low = self.low(ceiling)
        return all(low[key] >= offset for key, offset in ceiling.items())


@dataclass
class Work(Progress):
    """One table of the batch. `no_more_columns`: why records with unknown fields are refused, if they are.

    `refusal`: why it can have no record at all; then `table` is None. `discover` finds the columns of a table
    that is to be made. `before`: rows as the table has them, that the next run needs.
    """

    target: Target = field(kw_only=True)
    strategy: Strategy = field(kw_only=True)
    table: Table | None = None
    floor: Floor = field(default_factory=Floor)
    no_more_columns: str = ""
    refusal: str = ""
    commits: int = 0
    before: Before | None = None
    discover: DecodeSpec = ANY_COLUMNS

    @property
    def name(self) -> str:
        return self.target.name

    def low(self, ceiling: Offsets) -> Offsets:
        """See `Progress`; what the table has is done as well."""
        return {key: max(self.reached.get(key, 0), self.floor.offsets.get(key, 0)) for key in ceiling}

    def check_rollback(self, begin: Offsets) -> None:
        """Raises CommitConflict when the table has lost a position that this query has read past."""
        for (topic, partition), offset in self.floor.offsets.items():
            if offset < begin.get((topic, partition), 0):
                raise CommitConflict(
                    f"table {self.name} was rolled back: it has {topic}-{partition} up to offset {offset}, and "
                    f"{begin[topic, partition]} was read. The connector starts again from the table's position and "
                    "stores what was rolled back once more; stop it first when that is not wanted"
                )

    def spec(self, ceiling: Offsets) -> TableSpec:
        """What the tasks of a run need."""
        bounds = Bounds(self.low(ceiling), ceiling)
        if self.table is None:
            return TableSpec(self.name, self.discover, None, bounds, self.refusal)
        spec = self.strategy.spec(self.table, self.name, bounds, self.no_more_columns)
        return replace(spec, before=self.before)
