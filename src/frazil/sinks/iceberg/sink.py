"""The Iceberg sink on the driver: one micro-batch of Kafka rows into the tables of a connector, exactly once."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyiceberg.table import Table
from pyspark.sql import DataFrame

from frazil.clients import catalog as catalogs
from frazil.config.iceberg_sink import IcebergSinkConfig
from frazil.errors import BadRecord, CommitConflict, ConfigError, FrazilError
from frazil.pipeline import infer, offsets
from frazil.pipeline.deadletter import Coordinates, DeadLetter, DeadLetterQueue, Refusal
from frazil.pipeline.letters.log import LetterLog
from frazil.pipeline.letters.ranges import by_partition
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.task import RESULT_DDL, Task, TaskResult, TaskSpec, load_result
from frazil.sinks.iceberg import positions
from frazil.sinks.iceberg.commit import Batch, Floor, Target
from frazil.sinks.iceberg.evolve import add_columns, too_many
from frazil.sinks.iceberg.job import MapperFor, abandon, decode_spec, file_writer
from frazil.sinks.iceberg.pieces import before, divide

logger = logging.getLogger(__name__)

_ROWS_PER_TASK = 25_000
_HEADERS = "CASE WHEN headers IS NULL THEN NULL ELSE to_json(headers) END AS headers"
"""Text, because Spark measures the Arrow buffers of nested columns anew for each row, at 10 µs a record."""


@dataclass
class _Totals:
    """What the commits of one batch add up to; `reached` has the position of each table."""

    reached: dict[str, Offsets]
    read: int = 0
    skipped: int = 0
    files: int = 0
    bytes_written: int = 0
    write_s: float = 0.0
    commits: int = 0
    commit_s: float = 0.0
    stored: Counter[str] = field(default_factory=Counter)
    dead: set[Coordinates] = field(default_factory=set)


class IcebergSink:
    """Stores micro-batches; one instance per running connector, used from one thread."""

    def __init__(
        self,
        config: IcebergSinkConfig,
        bootstrap: str,
        dead_letters: DeadLetterQueue | None,
        mapper_for: MapperFor,
        max_tasks: int,
    ) -> None:
        """Raises ServiceUnavailable or ConfigError when the catalog cannot be reached."""
        self._config = config
        self._bootstrap = bootstrap
        self._dead_letters = dead_letters
        self._mapper_for = mapper_for
        self._max_tasks = max_tasks
        self._topics: list[str] = []
        catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
        self._targets = [Target(catalog, name, config.commit_branches[name]) for name in config.tables]
        self._written: dict[Refusal, list[Coordinates]] = {}

    def start(self, topics: list[str]) -> Offsets:
        """Check the tables and the stored positions; returns the offsets to begin with."""
        self._topics = topics
        floors = {t.name: t.floor(t.load(), self._config.name) for t in self._targets}
        self._identity = positions.identity(self._bootstrap, topics, floors)
        start = positions.start_offsets(
            self._bootstrap, topics, self._config.group_id, self._config.auto_offset_reset, floors, self._identity
        )
        if self._dead_letters is not None:
            since = min((f.committed_ms for f in floors.values()), default=0)
            self._written = self._dead_letters.written_since(topics, since)
        return start

    def process(self, rows: DataFrame, begin: Offsets, end: Offsets, committed: Callable[[BatchReport], None]) -> None:
        """Store the rows of one micro-batch, which covers `begin` to `end`.

        Returns when all of it is committed. Raises BadRecord after everything before the bad record is committed,
        Fenced, or a TransientError after which the same batch may be processed again. `committed` gets what is in the
        tables, also of a batch that fails half-way.
        """
        started = time.monotonic()
        totals = _Totals({target.name: begin for target in self._targets})
        try:
            for target in self._targets:
                self._store(target, rows, begin, end, totals)
        except Exception:
            if totals.commits:
                committed(self._report(totals, started))
            raise
        self._written = {r: places for r, places in self._written.items() if r[2] >= end.get(r[:2], 0)}
        committed(self._report(totals, started))

    def _report(self, totals: _Totals, started: float) -> BatchReport:
        dead = Counter(topic for topic, _, _ in totals.dead)
        reached = list(totals.reached.values())
        lowest = {key: min(each[key] for each in reached) for key in reached[0] if all(key in each for each in reached)}
        return BatchReport(
            connector=self._config.name,
            read=totals.read,
            stored=totals.stored.total(),
            dead_letters=len(totals.dead),
            skipped=totals.skipped,
            files=totals.files,
            bytes_written=totals.bytes_written,
            duration_s=time.monotonic() - started,
            write_s=totals.write_s,
            commit_s=totals.commit_s,
            stored_by_topic=dict(totals.stored),
            dead_by_topic=dict(dead),
            end_offsets=lowest,
        )

    def _store(self, target: Target, rows: DataFrame, begin: Offsets, end: Offsets, totals: _Totals) -> None:
        """Commit the batch to one table: in one piece, or in several when there are too many dead letters.

        Each round takes the first piece that is not in the table yet, named by the offsets where it ends. A run that
        cannot be committed leaves nothing but a better plan for the next one.
        """
        pieces = [end]
        bad: list[DeadLetter] = []
        no_more_columns = ""
        while pieces:
            table = target.load()
            floor = target.floor(table, self._config.name)
            _check_rollback(target.name, floor.offsets, begin)
            low = {key: max(floor.offsets.get(key, 0), begin.get(key, 0)) for key in end}
            ceiling = pieces[0]
            if all(low[key] >= ceiling[key] for key in end):
                totals.reached[target.name] = pieces.pop(0)
                continue
            result = self._run(rows, table, low, ceiling, no_more_columns)
            intolerable = result.dead if self._dead_letters is None else []
            unknown = result.unknown if self._config.evolve_schema else {}
            if not (intolerable or unknown or result.overflow):
                self._finish(target, table, floor, result, begin, ceiling, totals)
                totals.reached[target.name] = pieces.pop(0)
                continue
            abandon(table, result.files)
            if intolerable:
                bad += intolerable
                pieces = [before(bad, ceiling)]
            elif unknown:
                schema = table.schema()
                no_more_columns = too_many(
                    schema, unknown, self._config.max_new_columns_per_batch, self._config.max_columns
                )
                if no_more_columns:
                    continue
                if add_columns(target.catalog, table, unknown).schema() == schema:
                    raise ConfigError(
                        f"{target.name} cannot have columns for the unknown fields "
                        f"{', '.join(repr('.'.join(path)) for path in sorted(unknown))}; nothing was written. "
                        "Set iceberg.tables.evolve-schema-enabled=false, or correct the producer"
                    )
            else:
                pieces = divide(low, end, 2 * len(pieces))
        if bad:
            raise BadRecord(_bad_record_message(bad, self._config.name))

    def _run(self, rows: DataFrame, table: Table, floor: Offsets, ceiling: Offsets, no_more_columns: str) -> TaskResult:
        single = self._topics[0] if len(self._topics) == 1 and self._config.topics_regex is None else None
        decode = decode_spec(self._config, table.schema(), self._mapper_for, no_more_columns)
        transforms = self._config.transforms
        spec = TaskSpec(decode, floor, ceiling, single, transforms)
        writer = file_writer(self._config, table)
        columns = ["value", "partition", "offset", "timestamp"]
        columns += [] if single else ["topic"]
        tolerant = self._dead_letters is not None
        columns += ["key"] if tolerant or (transforms is not None and transforms.reads_keys) else []
        columns += [_HEADERS] if tolerant or (transforms is not None and transforms.reads_headers) else []
        size = sum(max(ceiling[key] - floor[key], 0) for key in ceiling)
        tasks = min(self._max_tasks, -(-size // _ROWS_PER_TASK))
        frame = rows.selectExpr(*columns).coalesce(max(tasks, 1))
        collected = frame.mapInArrow(Task(spec, writer), RESULT_DDL).collect()
        return _combine([load_result(row.result) for row in collected])

    def _finish(
        self,
        target: Target,
        table: Table,
        floor: Floor,
        result: TaskResult,
        begin: Offsets,
        ceiling: Offsets,
        totals: _Totals,
    ) -> None:
        """Dead letters first, then the commit that moves the position past them."""
        table_name = target.name if len(self._targets) > 1 else ""
        dead = [replace(letter, table=table_name) for letter in result.dead]
        new = [letter for letter in dead if letter.refusal not in self._written]
        if new and self._dead_letters is not None:
            self._dead_letters.write(new)
            self._written |= {letter.refusal: [] for letter in new}
        started = time.monotonic()
        batch = Batch(
            self._config.name,
            result.files,
            begin,
            offsets.merge(result.next_offsets, ceiling),
            self._identity,
            _valid_through(result, ceiling),
        )
        target.commit(table, floor, batch)
        totals.commit_s += time.monotonic() - started
        totals.commits += 1
        totals.write_s += result.write_s
        totals.read += result.read
        totals.skipped += result.skipped
        totals.stored.update(result.stored)
        totals.dead.update(letter.coordinates for letter in result.dead)
        totals.files += len(result.files)
        totals.bytes_written += sum(file.file_size_in_bytes for file in result.files)
        low = offsets.merge(begin, {key: offset for key, offset in floor.offsets.items() if key in begin})
        self._close_stored(table_name, {letter.refusal for letter in dead}, low, ceiling)

    def _close_stored(self, table_name: str, dead: set[Refusal], low: Offsets, ceiling: Offsets) -> None:
        """Mark the dead letters of an earlier run that ended before its commit, whose records are stored by now."""
        stored = [
            refusal
            for refusal, places in self._written.items()
            if places and refusal[3] == table_name and refusal not in dead
            if low.get(refusal[:2], 0) <= refusal[2] < ceiling.get(refusal[:2], 0)
        ]
        if not stored:
            return
        try:
            places = by_partition(place for refusal in stored for place in self._written.pop(refusal))
            LetterLog(self._bootstrap).close([], places, "replayed")
        except FrazilError as error:
            logger.warning(
                "connector %s has stored records whose dead letters stay open; drop these before you replay others "
                "(deadletters drop --connector %s): %s",
                self._config.name,
                self._config.name,
                error,
            )


def _combine(results: Sequence[TaskResult]) -> TaskResult:
    whole = TaskResult()
    for part in results:
        whole.read += part.read
        whole.skipped += part.skipped
        whole.stored.update(part.stored)
        whole.dead += part.dead
        whole.files += part.files
        whole.next_offsets = offsets.merge(whole.next_offsets, part.next_offsets)
        whole.last_timestamps = offsets.merge(whole.last_timestamps, part.last_timestamps)
        whole.overflow |= part.overflow
        whole.write_s = max(whole.write_s, part.write_s)
    whole.unknown = infer.merge_all([part.unknown for part in results])
    return whole


def _check_rollback(table: str, floor: Offsets, begin: Offsets) -> None:
    """Raises CommitConflict when the table has lost a position that this query has read past."""
    for (topic, partition), offset in floor.items():
        if offset < begin.get((topic, partition), 0):
            raise CommitConflict(
                f"table {table} was rolled back: it has {topic}-{partition} up to offset {offset}, and "
                f"{begin[topic, partition]} was read. The connector starts again from the table's position and stores "
                "what was rolled back once more; stop it first when that is not wanted"
            )


def _valid_through(result: TaskResult, ceiling: Mapping[tuple[str, int], int]) -> int | None:
    """The lowest of the partitions' last record times in ms; None when a partition was idle (K06)."""
    if ceiling.keys() - result.last_timestamps.keys():
        return None
    return min(result.last_timestamps.values(), default=None)


def _bad_record_message(bad: Sequence[DeadLetter], connector: str) -> str:
    first: dict[tuple[str, int], DeadLetter] = {}
    for letter in sorted(bad, key=lambda letter: letter.offset):
        first.setdefault((letter.topic, letter.partition), letter)
    shown = "; ".join(str(letter) for letter in first.values())
    return (
        f"a record cannot be stored: {shown}. Everything before it is in the table. Set errors.tolerance=all for "
        f"{connector}: such records go to a dead-letter topic then, and the records behind them are stored. Or correct "
        "the producer and create the connector again under a new name, with consumer.override.auto.offset.reset=latest "
        "to leave out what the topic has now."
    )
