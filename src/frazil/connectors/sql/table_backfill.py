"""The statement of a connector over the rows of an Iceberg table, in place of the records of its topic."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.metadata import TableMetadata

from frazil.clients.catalog import catalog_errors
from frazil.clients.data_files import arrow_schema as arrow_schema_of
from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka.ranges import Range
from frazil.connectors.backfill import Span, digest_of
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.commit import Floor, TableBranch
from frazil.connectors.positions import KafkaIdentity
from frazil.connectors.sql.backfill import StatementBackfill
from frazil.connectors.sql.config import StatementConfig
from frazil.errors import ConfigError, NotFound, UsageError
from frazil.pipeline.computed import json_rows
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.rows import Rows
from frazil.pipeline.source import Source
from frazil.pipeline.types import Struct

_OF = ".of-"


@dataclass(frozen=True)
class TableBackfill(StatementBackfill):
    """Rows of `source`, which are those of snapshot `version` of a table; they are stored in one commit."""

    source: TableSource
    version: str

    @classmethod
    def find(
        cls, own: StatementConfig, config: IcebergSinkConfig, bootstrap: str, catalog: Catalog, name: str
    ) -> TableBackfill:
        """Take the table as it is now. Raises UsageError for a statement that needs more than its rows, ConfigError."""
        if len(own.statement.topics) > 1 or config.topics_regex is not None or own.statement.metadata:
            raise UsageError(
                f"table {name} can stand for the records of one topic, without {', '.join(own.statement.metadata)}"
                if own.statement.metadata
                else f"table {name} can stand for one topic, and the statement of {config.name} reads several"
            )
        (topic,) = own.statement.topics
        with catalog_errors(catalog.properties, f"table {name}"):
            try:
                table = catalog.load_table(name)
            except NoSuchTableError:
                raise NotFound(f"there is no table {name}. Nothing was stored") from None
        head = table.current_snapshot()
        version = f"{table.metadata.table_uuid} {head.snapshot_id if head is not None else 'empty'}"
        source = TableSource.of(table, own.columns[topic])
        plain = replace(config, transforms=None, envelope=None, errors_tolerance="none")
        return cls(own, plain, bootstrap, catalog, Span({(topic, 0): 0}, {(topic, 0): source.end}), source, version)

    @property
    def position(self) -> str:
        """See `StatementBackfill`; the name is that of the table's snapshot."""
        return f"{self.config.name}{_OF}{digest_of(self.own.digest, self.version)}"

    def _standing(self, target: TableBranch, table: Table) -> tuple[bool, list[str]]:
        if all(target.floor(table, self.position).offsets.get(key, 0) >= end for key, end in self.span.end.items()):
            return True, []
        if not table.metadata.snapshots:
            return False, []
        return False, [f"{target.name} has rows already, and nothing tells whether they are those of the same records"]

    def _identity(self, floors: Mapping[str, Floor]) -> KafkaIdentity:
        return KafkaIdentity(kafka_client.cluster_id(self.bootstrap), {})


@dataclass(frozen=True)
class TableSource(Source):
    """Rows of a snapshot in `columns`, as JSON; the offsets of a file's rows begin behind those of the files before.

    Rows that are deleted leave gaps at the end of their file.
    """

    columns: Struct
    metadata: TableMetadata
    io: FileIO
    projection: Schema
    files: Sequence[FileScanTask]

    @classmethod
    def of(cls, table: Table, columns: Struct) -> TableSource:
        """Take the table as it is now. Raises ConfigError for one that has not these columns."""
        name, names = ".".join(table.name()), [field.name for field in columns.fields]
        lacks = [each for each in names if each not in {field.name for field in table.schema().fields}]
        if lacks:
            raise ConfigError(f"table {name} has no column {lacks[0]}, which frazil.sql.schema names. Nothing was read")
        scan = table.scan(selected_fields=tuple(names))
        files = sorted(scan.plan_files(), key=lambda task: task.file.file_path)
        found = cls({}, False, columns, table.metadata, table.io, scan.projection(), files)
        try:
            found._typed(arrow_schema_of(found.projection).empty_table())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ConfigError(
                f"columns of table {name} are none of frazil.sql.schema: {error}. Nothing was read"
            ) from error
        return found

    @property
    def end(self) -> int:
        """Offset behind the last row."""
        return self._ends()[-1]

    def read(self, ranges: Sequence[Range]) -> Generator[Rows]:
        """See `Source`.

        Raises OSError when a file cannot be read, ArrowInvalid for a value that a column cannot hold.
        """
        ends = self._ends()
        for one in ranges:
            for task, begin, end in zip(self.files, ends[:-1], ends[1:], strict=True):
                if begin < one.end and end > one.begin:
                    yield from self._rows(task, begin, one)

    def _ends(self) -> list[int]:
        return [0, *accumulate(task.file.record_count for task in self.files)]

    def _rows(self, task: FileScanTask, at: int, one: Range) -> Generator[Rows]:
        for batch in ArrowScan(self.metadata, self.io, self.projection, AlwaysTrue()).to_record_batches([task]):
            begin, end = max(one.begin, at), min(one.end, at + batch.num_rows)
            if begin < end:
                typed = self._typed(pa.Table.from_batches([batch.slice(begin - at, end - begin)]))
                values = json_rows(typed.to_struct_array(), self.columns)
                stamps = np.full(end - begin, -1, np.int64)
                yield Rows(one.topic, one.partition, np.arange(begin, end), stamps, values, [None] * len(values))
            at += batch.num_rows

    def _typed(self, rows: pa.Table) -> pa.Table:
        wanted = pa.schema([field.with_nullable(True) for field in arrow_schema(self.columns)])
        return rows.select(wanted.names).cast(wanted)
