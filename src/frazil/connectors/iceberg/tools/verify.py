"""Compares topics with the rows of tables: which records are missing, doubled or not of the topic.

Rows do not tell which record they are, so they are compared by their contents, in any order.
"""

from collections import Counter
from collections.abc import Collection, Iterator

import pyarrow as pa
from pyiceberg.table import Table

from frazil.clients import catalog as catalogs
from frazil.clients.data_files import read_batches
from frazil.clients.kafka.groups import group_offsets
from frazil.connectors.checks.compare import Part, Progress
from frazil.connectors.checks.contents import match
from frazil.connectors.checks.expected import Expected
from frazil.connectors.checks.result import RangeCheck, row_digests
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.position.start_position import control_offsets
from frazil.connectors.iceberg.table.commit import TableBranch
from frazil.connectors.iceberg.table.create import EMPTY
from frazil.connectors.iceberg.tools import replayed
from frazil.connectors.iceberg.tools.trial import decode_of, made_of, table_branch, tried
from frazil.errors import NotComparable, NotFound
from frazil.pipeline import offsets
from frazil.pipeline.changes import OFFSET
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.results import TableResult
from frazil.pipeline.rows import Rows
from frazil.pipeline.task_spec import ANY_COLUMNS


def table_floor(config: IcebergSinkConfig, bootstrap: str, partitions: Collection[TopicPartition]) -> Offsets:
    """Next offsets that the tables of a connector have.

    Where Kafka Connect's sink has committed last, its consumer group tells them; where no table was needed yet, the
    connector's. Raises as `TableBranch.load` does, and ServiceUnavailable.
    """
    catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
    targets = [table_branch(config, catalog, name) for name in config.tables]
    tables = [(target, _loaded(config, target)) for target in targets]
    floors = [target.floor(table, config.name) for target, table in tables if table is not None]
    if not floors:
        return group_offsets(bootstrap, config.group_id, partitions)
    of_groups: Offsets = {}
    if any(floor.superseded for floor in floors):
        for group in reversed(config.connect_sink.groups):
            of_groups |= control_offsets(bootstrap, group)
    return offsets.merge(of_groups, *(floor.offsets for floor in floors))


def _loaded(config: IcebergSinkConfig, target: TableBranch) -> Table | None:
    """A table; None for one that the connector makes when a record needs it, and that is not there."""
    try:
        return target.load()
    except NotFound:
        if not config.auto_create:
            raise
        return None


def check_comparable(config: IcebergSinkConfig) -> None:
    """Raise NotComparable for a connector whose rows change, or whose records name their tables."""
    reason = None
    if config.row_changes is not None:
        reason = "changes rows, so what the table has is not what the topic has"
    elif config.names_tables:
        reason = "takes the names of its tables from the records"
    if reason is not None:
        raise NotComparable(f"connector {config.name} {reason}. Nothing was compared; ask with `sql` instead.")


class _Rows:
    """The rows that one table is to have, and those that it may have: of records with a dead letter.

    A table that does not exist has none. `replayed` of the rows were stored by replays of dead letters.
    """

    def __init__(self, table: Table | None, target: TableBranch, check: RangeCheck) -> None:
        self.replayed = 0 if table is None else replayed.rows_stored(target, table)
        self.expected = Expected(check)
        self.dead: Counter[int] = Counter()
        self._table, self._branch = table, target.branch
        self._columns = [] if table is None else [field.name for field in table.schema().fields]

    def digests(self, rows: pa.Table | pa.RecordBatch) -> list[int]:
        """Digests of rows by the columns of the table; they are all alike where there is none."""
        if self._table is None:
            return [1] * rows.num_rows
        return list(row_digests(rows, self._columns))

    def stored(self) -> Iterator[list[int]]:
        """Digests of the rows that the table has."""
        if self._table is None:
            return
        snapshot = self._table.snapshot_by_name(self._branch)
        scan = self._table.scan(snapshot_id=None if snapshot is None else snapshot.snapshot_id)
        batches = read_batches(self._table, list(scan.plan_files()), scan.projection())
        yield from map(self.digests, batches)


class TableCheck:
    """Compares the tables that a connector names; see `RangeCheck` for what it finds."""

    def __init__(self, config: IcebergSinkConfig, part: Part) -> None:
        """Raises as `TableBranch.load` does."""
        self._config, self._part = config, part
        catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
        topics = ",".join(sorted({topic for topic, _ in part.begin}))
        begin, end = sum(part.begin.values()), sum(part.end.values())
        self._tables: dict[str, _Rows] = {}
        self._decodes: dict[str, DecodeSpec] = {}
        self._whole = part.everything
        for name in config.tables:
            target = table_branch(config, catalog, name)
            table = _loaded(config, target)
            check = RangeCheck(name, topics, None, begin, end)
            self._tables[name] = _Rows(table, target, check)
            if table is None:
                check.notes.append(f"table {name} does not exist; it is made when a record needs it")
                continue
            floor = target.floor(table, config.name)
            if floor.superseded and all(floor.offsets.get(key, 0) >= offset for key, offset in part.end.items()):
                self._whole = False
                check.notes.append(
                    f"rows of {name} that Kafka Connect's sink has stored were not compared: its consumer group "
                    f"{' or '.join(config.connect_sink.groups)} has no position"
                )
            self._decodes[name] = decode_of(config, table)

    def take(self, rows: Rows) -> None:
        """Take records of one partition."""
        for chosen, take in zip(self._part.divided(rows), (self._expect, self._note_dead), strict=True):
            if len(chosen):
                decodes, refusals = self._decoding(chosen)
                trial = tried(self._config, decodes, [chosen], refusals, places=True)
                for name, table in self._tables.items():
                    table.expected.check.read += trial.results[name].read
                    take(table, trial.results[name], trial.rows[name])

    def _decoding(self, records: Rows) -> tuple[dict[str, DecodeSpec], dict[str, str]]:
        """The decoding of each table, also of those that these records would make, and why they would make none."""
        decodes, refusals = dict(self._decodes), {}
        for name in self._tables.keys() - decodes.keys():
            new = made_of(self._config, name, [records])
            decodes[name] = ANY_COLUMNS if new is None else new.decode
            if new is None:
                refusals[name] = EMPTY
        return decodes, refusals

    def _expect(self, table: _Rows, result: TableResult, rows: list[pa.Table]) -> None:
        check = table.expected.check
        check.skipped += result.skipped.total()
        check.expected += result.read - result.skipped.total()
        if result.dead and not check.missing:
            check.notes.append(f"{result.dead[0]} cannot be stored, and there is no dead letter for it")
        check.missing += [letter.offset for letter in result.dead]
        for part in rows:
            for offset, one in zip(part.column(OFFSET).to_pylist(), table.digests(part), strict=True):
                table.expected.add(offset, one)

    def _note_dead(self, table: _Rows, result: TableResult, rows: list[pa.Table]) -> None:
        table.expected.check.dead += result.read
        table.dead.update(one for part in rows for one in table.digests(part))

    def finish(self, progress: Progress) -> list[RangeCheck]:
        """Look at the rows of the tables. Raises ServiceUnavailable."""
        for name, table in self._tables.items():
            progress(f"rows of {name}", 0, 0)
            match(table.stored(), [table.expected], whole=self._whole, dead=table.dead, replayed=table.replayed)
        return [table.expected.conclude(compared=True) for table in self._tables.values()]
