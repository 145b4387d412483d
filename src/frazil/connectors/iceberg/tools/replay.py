"""Sends dead letters through the pipeline again, into the tables of their connector, each at most once.

One append holds the rows of a chunk of dead letters and names them. Whoever stores them again, after a kill or at the
same time, finds the names in the table first; commits are conditional on the branch head that was searched. The
position of the connector (`frazil.offsets`) is not touched: it goes on meanwhile.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

import numpy as np
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from frazil.clients import catalog as catalogs
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.attempts import apply
from frazil.connectors.iceberg.table.column_limits import Widened, widen
from frazil.connectors.iceberg.table.commit import COMMIT_ID, CONNECTOR, Floor, TableBranch, has_commit
from frazil.connectors.iceberg.table.transaction import append_files, transaction_on
from frazil.connectors.iceberg.table.writers import abandon, file_writer
from frazil.connectors.iceberg.tools import replayed
from frazil.connectors.iceberg.tools.replayed import DEADLETTERS
from frazil.connectors.iceberg.tools.trial import KeptRows, decode_of, table_branch
from frazil.connectors.sink import NO_REPLAY, Outcome, Verdict
from frazil.errors import CommitConflict, CommitStateUnknown, NotFound, NotReplayable, ServiceUnavailable
from frazil.pipeline.letters.deadletter import Coordinates
from frazil.pipeline.letters.letter import Letter, described
from frazil.pipeline.letters.log import Queue
from frazil.pipeline.prepare import prepare
from frazil.pipeline.results import TableResult
from frazil.pipeline.route import router
from frazil.pipeline.rows import Rows
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import TableSpec, TaskSpec, Writer

_NO_COLUMNS = "the dead letters stay open. Set iceberg.tables.evolve-schema-enabled=false, or drop those that have them"


class _Overtaken(Exception):
    """Raised when another commit changed meanwhile what may be stored."""


class TableReplayer:
    """Replays the dead letters of one connector; with `dry_run` it only says what would become of them."""

    def __init__(
        self, config: IcebergSinkConfig, bootstrap: str, queues: Sequence[Queue], *, dry_run: bool = False
    ) -> None:
        """Raises NotReplayable for a connector whose records change rows: a later change of the same row may be in the
        table."""
        if config.row_changes is not None:
            raise NotReplayable(
                f"dead letters of {config.name} cannot be replayed: its records change rows, and a later change of the "
                f"same row may be in the table by now. {NO_REPLAY}"
            )
        self._config = config
        self._bootstrap = bootstrap
        self._queues = queues
        self._dry_run = dry_run
        self._settled: defaultdict[str, set[Coordinates]] = defaultdict(set)
        self._group: kafka_offsets.Offsets = {}

    @cached_property
    def _catalog(self) -> Catalog:
        return catalogs.connect(self._config.catalog_properties, self._config.catalog_name)

    def replay(self, letters: Sequence[Letter]) -> list[Outcome]:
        """Store a chunk of dead letters, with one commit for each table; the caller then writes the markers.

        Raises NotFound when a table is gone, ConfigError when it or the catalog refuses, and CommitConflict,
        ServiceUnavailable or CommitStateUnknown after which the same call may be repeated.
        """
        found: dict[Coordinates, list[Outcome]] = {letter.position: [] for letter in letters}
        by_table: defaultdict[str, list[Letter]] = defaultdict(list)
        for letter, tables in self._tables_of(letters, found):
            for name in tables:
                by_table[name].append(letter)
        for name, mine in by_table.items():
            for outcome in self._into_table(name, mine):
                found[outcome.letter.position].append(outcome)
        return [_whole(letter, found[letter.position], self._config) for letter in letters]

    def _tables_of(
        self, letters: Sequence[Letter], found: Mapping[Coordinates, list[Outcome]]
    ) -> Iterator[tuple[Letter, Sequence[str]]]:
        """The tables that each record is for; `found` gets the outcome of those that are for none."""
        config = self._config
        unnamed: list[Letter] = []
        for letter in letters:
            if letter.record and letter.table:
                yield letter, [letter.table] if letter.table in config.tables or self._config.names_tables else []
            elif letter.record and config.route is None:
                yield letter, config.tables
            elif letter.record:
                unnamed.append(letter)
        where = routed(_rows(unnamed), config) if unnamed else Routed()
        for index, letter in enumerate(unnamed):
            tables = where.tables[index]
            if not tables:
                reason = where.failed.get(index)
                found[letter.position].append(Outcome(letter, "fails" if reason else "skipped", reason or ""))
            yield letter, tables

    def _into_table(self, name: str, letters: Sequence[Letter]) -> Sequence[Outcome]:
        try:
            return self._into(table_branch(self._config, self._catalog, name), letters)
        except NotFound as error:
            if not self._config.names_tables:
                raise
            return [Outcome(letter, "fails", str(error)) for letter in letters]

    def _into(self, target: TableBranch, letters: Sequence[Letter]) -> list[Outcome]:
        """Store in one table; letters of the same record are one row."""
        same: dict[Coordinates, list[Letter]] = {}
        for letter in letters:
            if letter.record:
                same.setdefault(letter.record, []).append(letter)
        refusal = ""
        while True:
            table = target.load()
            verdicts = self._known(target, table, same)
            todo = [several[0] for record, several in same.items() if record not in verdicts]
            result = self._judge(target, table, todo, refusal) if todo else TableResult()
            if isinstance(result, Widened):
                refusal = result.refusal or refusal
                continue
            dead = {letter.coordinates: described(letter.path, letter.reason) for letter in result.dead}
            good = [letter for letter in todo if letter.record not in dead]
            skipped = {letter.record for letter in self._skipped(table, good, result.skipped.total())}
            if result.files:
                rows = {x.record: same[x.record] for x in good if x.record and x.record not in skipped}
                try:
                    self._commit(target, table, result, rows)
                except _Overtaken:
                    abandon(table, result.files)
                    continue
            verdicts |= {record: ("fails", reason) for record, reason in dead.items()}
            for letter in good:
                if letter.record:
                    verdicts[letter.record] = "skipped" if letter.record in skipped else "stored", ""
            self._settled[target.name].update(letter.record for letter in good if letter.record)
            return [Outcome(each, *verdicts[record]) for record, several in same.items() for each in several]

    def _known(
        self, target: TableBranch, table: Table, same: dict[Coordinates, list[Letter]]
    ) -> dict[Coordinates, tuple[Verdict, str]]:
        """The records that need no judgement: stored before, or not yet left behind by the connector."""
        stored = replayed.stored(target, table)
        ids = {queue.topic: queue.topic_id for queue in self._queues}
        floor = target.floor(table, self._config.name)
        verdicts: dict[Coordinates, tuple[Verdict, str]] = {}
        for record, several in same.items():
            places = [((each.topic, ids[each.topic], each.partition), each.offset) for each in several]
            if record in self._settled[target.name] or any(p in stored and o in stored[p] for p, o in places):
                verdicts[record] = "present", ""
            elif not self._left_behind(floor, record):
                reason = f"{self._config.name} has not read past the record yet; it stores it by itself if it fits now"
                verdicts[record] = "waits", reason
        return verdicts

    def _left_behind(self, floor: Floor, record: Coordinates) -> bool:
        """Whether the connector will not read the record again."""
        topic, partition, offset = record
        position = floor.offsets.get((topic, partition))
        if position is None:  # a table that the connector has not written yet, or Kafka Connect has
            position = self._group_offset(topic, partition)
        elif self._config.route is not None and offset >= position:  # a table moves on only when it gets records
            position = max(position, self._group_offset(topic, partition))
        return offset < position

    def _group_offset(self, topic: str, partition: int) -> int:
        key = topic, partition
        if key not in self._group:
            several = [
                kafka_groups.group_offsets(self._bootstrap, group, [key]) for group in self._config.connect_sink.groups
            ]
            self._group[key] = next((offsets[key] for offsets in several if key in offsets), 0)
        return self._group[key]

    def _judge(
        self, target: TableBranch, table: Table, letters: Sequence[Letter], refusal: str
    ) -> TableResult | Widened:
        """Convert and write the records, or tell what the table has columns for now; then it has to be read again.

        `refusal`: why records with unknown fields are refused.
        """
        config, schema = self._config, table.schema()
        while True:
            writer = KeptRows() if self._dry_run else file_writer(config, table)
            result = self._run(table, letters, writer, schema, refusal)
            if not (result.lacks and config.evolve_schema):
                return result
            abandon(table, result.files)
            catalog = None if self._dry_run else target.catalog
            widened = widen(config, table, result, catalog, schema=schema, ending=_NO_COLUMNS)
            if not self._dry_run:
                return widened
            schema, refusal = widened.schema, widened.refusal or refusal

    def _skipped(self, table: Table, letters: Sequence[Letter], count: int) -> Sequence[Letter]:
        """Letters that give no row, `count` of them; found by judging halves again."""
        if count in (0, len(letters)):
            return letters[:count]
        first, second = letters[: len(letters) // 2], letters[len(letters) // 2 :]
        here = self._run(table, first, KeptRows()).skipped.total()
        return [*self._skipped(table, first, here), *self._skipped(table, second, count - here)]

    def _run(
        self,
        table: Table,
        letters: Sequence[Letter],
        writer: Writer,
        schema: Schema | None = None,
        no_more_columns: str = "",
    ) -> TableResult:
        config = self._config
        decode = decode_of(config, table, schema, no_more_columns)
        spec = TaskSpec((TableSpec("", decode, writer),), config.transforms, envelope=config.envelope)
        return run(_rows(letters), spec).tables[""]

    def _commit(
        self, target: TableBranch, table: Table, result: TableResult, rows: dict[Coordinates, list[Letter]]
    ) -> None:
        """Append the files with the names of the dead letters that they hold, by record."""
        commit_id = str(uuid.uuid4())
        new = replayed.places((each.position for several in rows.values() for each in several), self._queues)
        summary = {CONNECTOR: self._config.name, COMMIT_ID: commit_id, DEADLETTERS: replayed.to_json(new)}

        def attempt(now: Table) -> None:
            transaction = transaction_on(now)
            append_files(
                transaction.update_snapshot(snapshot_properties=summary, branch=target.branch), now, result.files
            )
            rows_stored = replayed.rows_stored(target, now) + len(rows)
            kept = replayed.properties(target, now, new, self._queues)
            transaction.set_properties(kept | {replayed.ROWS + target.branch: str(rows_stored)})
            transaction.commit_transaction()

        def arrived(now: Table) -> bool:
            if has_commit(now, commit_id):
                return True
            if self._known(target, now, rows):
                raise _Overtaken
            return False

        try:
            apply(target.load, table, target.branch, attempt, arrived)
        except CommitStateUnknown as error:
            raise CommitStateUnknown(
                f"the catalog did not confirm the rows of dead letters in {target.name}; the dead letters stay open. "
                "Repeat the command: what the table has is not stored again"
            ) from error
        except (CommitConflict, ServiceUnavailable) as error:
            abandon(table, result.files)
            raise type(error)(
                f"no dead letter of this chunk was stored in {target.name} ({error.__cause__}); they stay open. "
                "Repeat the command"
            ) from error


def _rows(letters: Sequence[Letter]) -> Iterator[Rows]:
    """The original records in the order of the letters."""
    for (topic, partition), several in groupby(letters, key=lambda letter: (letter.record or letter.position)[:2]):
        chunk = list(several)
        yield Rows(
            topic,
            partition,
            np.array([(letter.record or letter.position)[2] for letter in chunk], np.int64),
            np.array([letter.record_timestamp for letter in chunk], np.int64),
            [letter.value for letter in chunk],
            [letter.key for letter in chunk],
            [letter.headers for letter in chunk],
        )


def _whole(letter: Letter, outcomes: Sequence[Outcome], config: IcebergSinkConfig) -> Outcome:
    """The outcome for all tables that the dead letter is for."""
    if letter.record is None:
        return Outcome(
            letter, "fails", "it does not tell which record it is (no __connect.errors.* or frazil.errors.* headers)"
        )
    if not outcomes:
        return Outcome(letter, "fails", f"its table {letter.table} is none of {config.name} any more")
    order: tuple[Verdict, ...] = ("fails", "waits", "stored", "skipped", "present")
    return min(outcomes, key=lambda outcome: order.index(outcome.verdict))


@dataclass(frozen=True)
class Routed:
    """Routes by index in all rows: the tables of a record, none for a skipped one, or why it cannot be routed."""

    tables: Mapping[int, list[str]] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)


def routed(chunks: Iterable[Rows], config: IcebergSinkConfig) -> Routed:
    """Transform and route records; `config` has a route."""
    assert config.route is not None  # noqa: S101 - else every record goes to every table
    tables: dict[int, list[str]] = {}
    failed: dict[int, str] = {}
    for rows in chunks:
        first = len(tables)
        tables |= {first + index: [] for index in range(len(rows))}
        prepared = prepare(rows, config.transforms, envelope=config.envelope)
        values = prepared.values
        topics = values.topics if values.topics is not None else [rows.topic] * len(rows)
        assigned = router(config.route).assign(values.values, lambda topics=topics: topics)  # type: ignore[misc]
        refused = [*prepared.failed, *((values.position(index), error) for index, error in assigned.failed)]
        failed |= {first + index: described(error.path, error.reason) for index, error in refused}
        for name, indexes in assigned.tables.items():
            for index in indexes:
                tables[first + values.position(index)].append(name)
    return Routed(tables, failed)
