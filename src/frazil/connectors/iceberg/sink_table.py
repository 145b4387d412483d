"""Table of a running connector: its state, what the tasks of a batch need of it, and the commit of their files."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyiceberg.exceptions import BadRequestError, RESTError
from pyiceberg.table import Table
from requests.exceptions import RequestException

from frazil.connectors.iceberg.append import Append
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position import start_position
from frazil.connectors.iceberg.table.column_limits import admit, widen
from frazil.connectors.iceberg.table.commit import Commit, Floor, TableBranch
from frazil.connectors.iceberg.table.create import EMPTY, create_table, creation_of, new_table
from frazil.connectors.iceberg.table.evolve import told_changes
from frazil.connectors.iceberg.table.schema import mapping_of
from frazil.connectors.iceberg.table.taken import taken_rows
from frazil.connectors.iceberg.table.without_effect import without_effect
from frazil.connectors.iceberg.table.writers import discovery
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import CommitConflict, ConfigError, Fenced, FrazilError, NotFound
from frazil.pipeline.gaps import Before, WantedRows
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.results import NewColumns, TableResult
from frazil.pipeline.task_spec import Bounds, Judge, TableSpec
from frazil.text.events import event

logger = logging.getLogger(__name__)


@dataclass
class Progress:
    """Progress of a batch: done up to `reached`. `bad` are records that may not be passed."""

    reached: Offsets
    bad: list[DeadLetter] = field(default_factory=list)

    def low(self, ceiling: Offsets) -> Offsets:
        """Offsets to read on from, for each partition of `ceiling`."""
        return {key: self.reached.get(key, 0) for key in ceiling}

    def cap(self, ceiling: Offsets) -> Offsets:
        """The ceiling, lowered to before the first bad record of each partition."""
        return before(self.bad, ceiling) if self.bad else ceiling

    def is_done(self, ceiling: Offsets) -> bool:
        """Whether all records below the ceiling are done."""
        low = self.low(ceiling)
        return all(low[key] >= offset for key, offset in ceiling.items())


class SinkTable(Progress):
    """A table while its connector runs; `begin` makes it ready for a batch, `load` reads it as it is then.

    `table` is None while it does not exist, or cannot have a record: `refusal` says why. `no_more_columns` says why
    records with unknown fields are refused. `before` are rows as the table has them, which the next run needs. `judge`
    refuses the records of the batch that new columns cannot hold, so that columns come from records that are stored.
    """

    def __init__(self, config: IcebergSinkConfig, target: TableBranch, operation: Append) -> None:
        super().__init__({})
        self.target = target
        self.idle = 0
        """Batches without a record for it."""
        self._config = config
        self._operation = operation
        self._begun = False
        """Whether the connector has committed since Kafka Connect's sink did, or that sink never has."""
        self._behind: Offsets | None = None
        """Position of the connector at the start, when it had none or Kafka Connect's sink has gone on from it."""
        self.begin({})

    def begin(self, position: Offsets) -> None:
        """Forget the batch before; the next one begins at the position."""
        self.reached, self.bad = dict(position), []
        self._first = dict(position)
        self.table: Table | None = None
        self.floor = Floor()
        self.no_more_columns = ""
        self.refusal = ""
        self.commits = 0
        self.before: Before | None = None
        self.judge: Judge | None = None

    @property
    def name(self) -> str:
        """The table's name."""
        return self.target.name

    def low(self, ceiling: Offsets) -> Offsets:
        """See `Progress`; what the table has is done as well."""
        return {key: max(self.reached.get(key, 0), self.floor.offsets.get(key, 0)) for key in ceiling}

    def start(self) -> Floor:
        """The position when the connector starts, with the branch made where it lacks.

        Raises as `TableBranch.with_branch` does, and ConfigError for a table that cannot be written as configured.
        """
        try:
            table = self.target.with_branch(self.target.load())
        except NotFound:
            if self._config.auto_create:
                return Floor()
            raise
        self._operation.check(table)
        self._warn(without_effect(self._config, table))
        return self.target.floor(table, self._config.name)

    def started(self, floor: Floor, *, taken_over: bool) -> None:
        """Note the position at the start; `taken_over` is about the tables of the connector together."""
        self._begun = bool(floor.offsets) and not floor.superseded
        self._behind = floor.offsets if taken_over or not self._begun else None

    def load(self, identity: KafkaIdentity) -> None:
        """Read the table and its position as they are now.

        A table that does not exist is to be created; if that may not be, or it cannot be written, it refuses its
        records where they name it. Raises NotFound for any other, ConfigError, PositionLost, CommitConflict when the
        table was rolled back, Fenced when Kafka Connect's sink writes to it too, and as `TableBranch.load` does.
        """
        try:
            self.table = self.target.with_branch(self.target.load())
        except NotFound as error:
            if self._config.auto_create:
                self.table, self.floor = None, Floor()
            else:
                self._refuse(error)
            return
        except ConfigError as error:
            self._refuse_name(error)
            return
        try:
            self._operation.check(self.table)
        except ConfigError as error:
            self._refuse(error)
            return
        self.floor, self.refusal = self.target.floor(self.table, self._config.name), ""
        taken_over = self._is_taken_over()
        route = self._config.route
        if self._config.names_tables:
            start_position.check_identity(self.name, self.floor.identity, identity)
            if self.floor.rolled_back:
                logger.warning(
                    "connector %s: table %s was rolled back. What it lost is not stored again, unless the offsets of "
                    "the connector are moved back",
                    self._config.name,
                    self.name,
                )
        elif (route is None or self.floor.rolled_back) and not taken_over:
            self._check_rollback()

    def create(self, found: NewColumns) -> None:
        """Make the table, which does not exist, with columns as far as the limit allows; without any it refuses.

        Where records may not fit the columns only the judge is made: the next run tells which columns it takes.

        Raises ConfigError for one whose rows nothing would identify, and as `create_table` does.
        """
        config = self._config
        creation = creation_of(config, self.name, found.key_fields)
        admitted = admit(config, None, found.fields, found.seen)
        if not admitted.fields:
            self.refusal = EMPTY
            return
        try:
            doubtful = found.doubtful or admitted.doubtful or config.row_changes is not None
            if self.judge is None and doubtful:
                schema, _ = new_table(self.name, admitted.fields, creation)
                self.judge = self._operation.judge(schema, self.name, admitted.refusal, None)
                return
            create_table(self.target.catalog, self.name, admitted.fields, creation)
        except ConfigError as error:
            self._refuse_name(error)
            return
        self.no_more_columns = admitted.refusal
        self._warn(admitted.warnings)
        logger.info(
            "connector %s has created table %s", config.name, self.name, extra=event("table created", config.name)
        )

    def evolve(self, result: TableResult) -> None:
        """Add columns for unknown fields as far as the limits allow, and make absent ones optional.

        Where records may not fit the columns only the judge is made: the next run tells which columns it takes.

        Raises ConfigError when nothing can come of it, and as `evolve` does.
        """
        if self.table is None:
            return
        ending = "nothing was written. Set iceberg.tables.evolve-schema-enabled=false, or correct the producer"
        if self.judge is None:
            told = widen(self._config, self.table, result, None, ending=ending)
            if result.doubtful or told.doubtful:
                self.judge = self._operation.judge(told.schema, self.name, told.refusal, mapping_of(self.table))
                return
        before = self.table.schema()
        widened = widen(self._config, self.table, result, self.target.catalog, ending=ending)
        if changes := told_changes(before, widened.schema):
            name = self._config.name
            logger.info("connector %s, table %s: %s", name, self.name, changes, extra=event("table evolved", name))
        self.no_more_columns = widened.refusal or self.no_more_columns
        self._warn(widened.warnings)

    def _warn(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            logger.warning("connector %s, table %s: %s", self._config.name, self.name, warning)

    def spec(self, ceiling: Offsets) -> TableSpec:
        """Table of a run, as its tasks need it."""
        bounds = Bounds(self.low(ceiling), ceiling)
        if self.table is None:
            spec = TableSpec(self.name, discovery(self._config), None, bounds, self.refusal, key=self._config.key)
        else:
            spec = self._operation.spec(self.table, self.name, bounds, self.no_more_columns, self.before)
        events = self._config.row_changes is not None and self._config.row_changes.events
        if events:
            taken = None if self.table is None else taken_rows(self.table, self.target.branch)
            spec = replace(spec, reached=self.floor.reached, taken=taken)
        return replace(spec, judge=self.judge)

    def find_before(self, wanted: WantedRows) -> None:
        """Look up the rows that changes want, for the next run; raises as `search` of `match` does."""
        if self.table is not None:
            self.before = self._operation.before(self.target, self.table, wanted)

    def commit(self, commit: Commit) -> None:
        """Put the files of a run into the table and move its floor, once; raises as `TableBranch.commit` does."""
        if self.table is not None:
            self._operation.commit(self.target, self.table, self.floor, commit)
            self.commits += 1

    def tell_anew(self) -> None:
        """Tell of a snapshot of the source behind others, which brings no deletes."""
        name = self._config.name
        logger.warning(
            "connector %s, table %s: a snapshot has read the database anew. Rows that were deleted before it, and "
            "whose deletes have not come, are still there: `verify %s --against postgres://… --delete-surplus` shows "
            "and deletes them",
            *(name, self.name, name),
            extra=event("table read anew", name),
        )

    def done(self, ceiling: Offsets) -> None:
        """Note that everything below the ceiling is stored."""
        self.before = None
        for key, offset in ceiling.items():
            self.reached[key] = max(offset, self.reached.get(key, 0))

    def _check_rollback(self) -> None:
        """Raise CommitConflict when the table has lost a position that this connector has read past."""
        for (topic, partition), offset in self.floor.offsets.items():
            read = self._first.get((topic, partition), 0)
            if offset < read:
                raise CommitConflict(
                    f"table {self.name} was rolled back: it has {topic}-{partition} up to offset {offset}, and {read} "
                    "was read. The connector starts again from the table's position and stores what was rolled back "
                    "once more; stop it first when that is not wanted"
                )

    def _is_taken_over(self) -> bool:
        """Whether the position is one that Kafka Connect's sink has gone on from, before this start.

        Raises Fenced when that sink commits beside this connector.
        """
        has_committed = self._begun or self._behind not in (None, self.floor.offsets)
        if self.floor.superseded and has_committed:
            raise Fenced(
                f"Kafka Connect's sink has committed to {self.name} for connector {self._config.name} while it runs "
                "here; nothing of this batch is in the table, but what both had read before may be in it twice. Stop "
                "the connector in Kafka Connect, then restart this one."
            )
        if self.floor.superseded or self.floor.offsets == self._behind:
            return True
        self._begun, self._behind = bool(self.floor.offsets), None
        return False

    def _refuse_name(self, error: ConfigError) -> None:
        """Refuse the records that name a table which cannot be; raises any other error again.

        A catalog that refuses one name, and answers otherwise, says something of that name.
        """
        cause = error.__cause__
        if self._config.names_tables and isinstance(cause, RESTError) and not isinstance(cause, BadRequestError):
            try:
                self.target.catalog.list_namespaces()
            except (RESTError, RequestException):
                raise error from cause
        self._refuse(error)

    def _refuse(self, error: FrazilError) -> None:
        """The table can have no record; raises the error again where the table is one that has to be there."""
        if not self._config.names_tables:
            raise error
        self.table, self.floor, self.refusal = None, Floor(), str(error)


def divide(begin: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], parts: int) -> list[Offsets]:
    """Divide a range evenly, at least a record a part, partition after partition; return the end of each part.

    `begin` has every partition of `end`. The last part ends at `end`.
    """
    sizes = {key: max(offset - begin[key], 0) for key, offset in end.items()}
    step = max(-(-sum(sizes.values()) // parts), 1)
    ends: list[Offsets] = []
    for taken in range(step, sum(sizes.values()), step):
        here, left = {}, taken
        for key, size in sizes.items():
            here[key] = begin[key] + min(size, left)
            left -= min(size, left)
        ends.append(here)
    return [*ends, dict(end)]


def count(begin: Offsets, end: Offsets) -> int:
    """Count the offsets in between."""
    return sum(offset - begin[key] for key, offset in end.items())


def cut(ends: Sequence[Offsets], apart: Collection[int]) -> list[Offsets]:
    """Make pieces of their own of the records at some offsets of the only partition; `ends` are those of the pieces."""
    if not apart:
        return list(ends)
    ((key, last),) = ends[-1].items()
    found = {end[key] for end in ends} | {offset for at in apart for offset in (at, at + 1)}
    return [{key: offset} for offset in sorted(found) if offset <= last]


def before(bad: Sequence[DeadLetter], ceiling: Offsets) -> Offsets:
    """Positions of the first bad record in each partition; other partitions keep theirs."""
    result = dict(ceiling)
    for letter in bad:
        key = (letter.topic, letter.partition)
        result[key] = min(result[key], letter.offset)
    return result
