"""Compares a range of topics with the rows of the tables: which records are missing, doubled or not of the topic.

Rows do not tell which record they are, so they are compared by their contents, in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import pyarrow as pa
from confluent_kafka import Message
from pyiceberg.table import Table

from frazil.clients import catalog as catalogs
from frazil.connectors.checks.result import RangeCheck, Sum, row_digests
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.commit import Target
from frazil.connectors.iceberg.table.schema import mapping_of
from frazil.connectors.iceberg.table.writers import MapperFor, decode_spec
from frazil.connectors.iceberg.tools.kept_rows import KeptRows
from frazil.errors import UsageError
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.results import TableResult
from frazil.pipeline.rows import by_partition
from frazil.pipeline.task import Bounds, Routing, TableSpec, TaskSpec, run

Read = Callable[[], Iterator[Sequence[Message]]]
"""Reads the records of the range, again and again."""

_NAMED = 1000
"""Offsets that are looked for, at most."""


def table_floor(config: IcebergSinkConfig) -> Offsets:
    """What the tables of a connector have: everything below these offsets. Raises as `Target.load` does."""
    catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
    found: Offsets = {}
    for name in config.tables:
        target = Target(catalog, name, config.branch_of(name))
        found = offsets.merge(found, target.floor(target.load(), config.name).offsets)
    return found


class TableCheck:
    """Compares the tables that a connector names; see `RangeCheck`."""

    def __init__(
        self,
        config: IcebergSinkConfig,
        mapper_for: MapperFor,
        begin: Offsets,
        end: Offsets,
        dead: Collection[tuple[str, int, int]],
    ) -> None:
        """`dead` are records that have, or had, a dead letter: they may be rows and need not.

        Raises UsageError for a connector whose rows change, or whose records name their tables.
        """
        reason = None
        if config.row_changes is not None:
            reason = "changes rows, so what the table has is not what the topic has"
        elif config.route is not None and config.route.names_tables:
            reason = "takes the names of its tables from the records"
        if reason is not None:
            raise UsageError(f"connector {config.name} {reason}. Nothing was compared; ask with `sql` instead.")
        self._config, self._begin, self._end = config, begin, end
        self._dead = frozenset(dead)
        catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
        self._tables = {name: Target(catalog, name, config.branch_of(name)).load() for name in config.tables}
        self._decodes = {
            name: decode_spec(config, table.schema(), mapper_for, name_mapping=mapping_of(table))
            for name, table in self._tables.items()
        }

    def compare(self, read: Read, advance: Callable[[int], None] = lambda count: None) -> list[RangeCheck]:
        """The checks of all tables; `advance` gets how many records were read."""
        checks = {name: self._check(name) for name in self._tables}
        wanted: dict[str, Counter[int]] = {name: Counter() for name in self._tables}
        optional: dict[str, Counter[int]] = {name: Counter() for name in self._tables}
        for records in read():
            advance(len(records))
            self._take(records, checks, wanted, optional)
        lacking = {}
        for name, table in self._tables.items():
            lacking[name] = self._scan(table, checks[name], wanted[name], optional[name])
        if any(lacking.values()):
            self._name_missing(read, checks, lacking)
        return list(checks.values())

    def _check(self, name: str) -> RangeCheck:
        begin, end = (sum(found.values()) for found in (self._begin, self._end))
        return RangeCheck(name, ",".join(sorted({topic for topic, _ in self._begin})), None, begin, end)

    def _take(
        self,
        records: Sequence[Message],
        checks: dict[str, RangeCheck],
        wanted: dict[str, Counter[int]],
        optional: dict[str, Counter[int]],
    ) -> None:
        dead = [record for record in records if _place(record) in self._dead]
        for chosen, counters in (([r for r in records if _place(r) not in self._dead], wanted), (dead, optional)):
            if not chosen:
                continue
            for name, (rows, result) in self._run(chosen).items():
                counters[name].update(self._digests(name, rows))
                check = checks[name]
                check.read += result.read
                if counters is optional:
                    check.dead += result.read
                    continue
                check.skipped += result.skipped.total()
                check.expected += result.read - result.skipped.total()
                if result.dead and not check.notes:
                    check.notes.append(f"{result.dead[0]} cannot be stored, and there is no dead letter for it")
                check.missing += [letter.offset for letter in result.dead]

    def _run(self, records: Sequence[Message]) -> dict[str, tuple[list[pa.Table], TableResult]]:
        kept = {name: KeptRows() for name in self._decodes}
        tables = tuple(TableSpec(name, decode, kept[name]) for name, decode in self._decodes.items())
        route = self._config.route
        routing = None if route is None else Routing(route, Bounds(), frozenset(self._decodes))
        spec = TaskSpec(
            tables, transforms=self._config.transforms, routing=routing, envelope=self._config.schemas_enable
        )
        result = run(by_partition(records), spec)
        return {name: (kept[name].parts, result.tables[name]) for name in kept}

    def _digests(self, name: str, parts: Iterable[pa.Table]) -> Iterator[int]:
        columns = [field.name for field in self._tables[name].schema().fields]
        for part in parts:
            yield from row_digests(part, columns)

    def _scan(self, table: Table, check: RangeCheck, wanted: Counter[int], optional: Counter[int]) -> Counter[int]:
        """Compare with the rows of a table; what is missing."""
        columns = [field.name for field in table.schema().fields]
        branch = self._config.branch_of(".".join(table.name()[-2:]))
        snapshot = table.snapshot_by_name(branch)
        left, found, expected = Counter(wanted), Sum(), Sum()
        for one, count in wanted.items():
            for _ in range(count):
                expected.add(one)
        doubled = 0
        scan = table.scan(snapshot_id=None if snapshot is None else snapshot.snapshot_id)
        for batch in scan.to_arrow_batch_reader():
            for one in row_digests(pa.table(batch) if isinstance(batch, pa.StructArray) else batch, columns):
                if left[one] > 0:
                    left[one] -= 1
                elif optional[one] > 0:
                    optional[one] -= 1
                    check.dead -= 1
                    check.expected += 1
                    expected.add(one)
                elif one in wanted:
                    doubled += 1
                elif any(self._begin.values()):
                    check.unknown += 1
                    continue
                else:
                    check.foreign += 1
                check.stored += 1
                found.add(one)
        check.expected_sum, check.stored_sum = str(expected), str(found)
        if doubled:
            check.doubled = [-1] * doubled
            check.notes.append(f"{doubled:,} rows are there once more than the topic has them")
        return +left

    def _name_missing(self, read: Read, checks: dict[str, RangeCheck], lacking: dict[str, Counter[int]]) -> None:
        """Find the offsets of records whose rows are missing."""
        for records in read():
            for record in records:
                if _place(record) in self._dead:
                    continue
                for name, (rows, _) in self._run([record]).items():
                    for one in self._digests(name, rows):
                        if lacking[name][one] > 0:
                            lacking[name][one] -= 1
                            checks[name].missing.append(record.offset() or 0)
            if not any(+counter for counter in lacking.values()):
                return


def _place(record: Message) -> tuple[str, int, int]:
    return record.topic() or "", record.partition() or 0, record.offset() or 0
