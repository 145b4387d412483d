"""A Delta table in S3: which offsets it has, and commits of files together with them.

The table is the truth about progress: each commit carries, for each Kafka partition, the next offset as the version of
an application transaction, and delta-rs refuses a commit when another one moved it.
"""

import json
import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from frazil.clients.object_store import ObjectStoreConfig
from frazil.connectors.objects.config.delta_keys import MOST, DeltaConfig
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.config.partitioner_keys import TIME_COLUMNS
from frazil.connectors.objects.delta.schema import arrow_of, columns_of
from frazil.connectors.objects.encoders import column_values
from frazil.connectors.objects.formats.delta import TableColumns
from frazil.connectors.objects.results import StoredObject
from frazil.environment.extras import extra
from frazil.errors import CommitConflict, ConfigError, Fenced, FrazilError, ServiceUnavailable
from frazil.pipeline.convert.data_keys import with_fewer, with_maps
from frazil.pipeline.convert.infer import column_count, widened
from frazil.pipeline.offsets import Offsets, TopicPartition
from frazil.pipeline.results import NewColumns
from frazil.pipeline.types import Field, Scalar, Struct
from frazil.text.events import event

with extra("delta"):
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
    from deltalake.exceptions import (
        CommitFailedError,
        DeltaError,
        DeltaProtocolError,
        SchemaMismatchError,
        TableNotFoundError,
    )
    from deltalake.transaction import AddAction

logger = logging.getLogger(__name__)

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_S3_ERROR = re.compile(
    r"<\?xml[^>]*>\s*<Error>.*?<Code>([^<]*)</Code>\s*<Message>([^<]*)</Message>.*?</Error>", re.DOTALL
)
_VACUUM_INTERVAL = 10
"""Commits after which old files are deleted where small ones are not put together."""
_SAFE_HOURS = 168
"""Vacuum that keeps less than Delta's week is what the user has asked for."""


@dataclass(frozen=True)
class Place:
    """Place of the table: `root` is the folder in the bucket, without a delimiter at its end."""

    store: ObjectStoreConfig
    root: str

    @property
    def uri(self) -> str:
        return f"s3://{self.store.bucket}/{self.root}".rstrip("/")

    def options(self) -> dict[str, str]:
        """Options of delta-rs for access to the bucket."""
        store = self.store
        options = {
            "AWS_REGION": store.region,
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": str(not store.path_style).lower(),
            "conditional_put": "etag",
        }
        if store.endpoint is not None:
            options |= {
                "AWS_ENDPOINT_URL": store.endpoint,
                "AWS_ALLOW_HTTP": str(store.endpoint.startswith("http://")).lower(),
            }
        if store.access_key:
            options |= {"AWS_ACCESS_KEY_ID": store.access_key, "AWS_SECRET_ACCESS_KEY": store.secret_key}
        return options


class DeltaTarget:
    """The table of one connector, used from one thread. `partition_columns` are the folders' names in their order."""

    def __init__(self, config: DeltaConfig, place: Place, connector: str, partition_columns: Sequence[str]) -> None:
        self._config = config
        self._place = place
        self._connector = connector
        self._partition_columns = list(partition_columns)
        self._table: DeltaTable | None = None
        self._columns = Struct(())
        self._offsets: Offsets = {}
        self._full = ""
        """Reason why the table gets no more columns."""

    @property
    def columns(self) -> TableColumns:
        """The columns that files have: those of the table without those that are in its folders only."""
        most = (self._config.max_columns, MOST)
        return TableColumns(self._columns, self._config.evolve, frozenset(self._folder_columns()), most, self._full)

    def start(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """Look at the table, if there is one; the next offset of each partition that it has.

        Raises ConfigError for a table that cannot be written, ServiceUnavailable.
        """
        self._offsets = {}
        self._load()
        if self._table is None:
            return {}
        self._check_table(self._table)
        for key in partitions:
            version = self._table.transaction_version(self._app(key))
            if version is not None:
                self._offsets[key] = version
        return dict(self._offsets)

    def rows(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows of the table, once it was started; none when there is no table. Raises ServiceUnavailable."""
        if self._table is None:
            return
        try:
            yield from self._table.to_pyarrow_dataset().to_batches(columns=list(columns))
        except (DeltaError, OSError) as error:
            raise self._translated(error, "cannot be read") from error

    def _check_table(self, table: DeltaTable) -> None:
        kept = list(table.metadata().partition_columns)
        if kept != self._partition_columns:
            raise ConfigError(
                f"Delta table {self._place.uri} is partitioned by {', '.join(kept) or 'nothing'}, and the connector by "
                f"{', '.join(self._partition_columns) or 'nothing'}. Nothing was read. Make both the same."
            )
        properties = table.metadata().configuration
        lacking = sorted(name for name in properties if name.startswith("delta.constraints."))
        if properties.get("delta.columnMapping.mode", "none") != "none":
            lacking.append("delta.columnMapping.mode")
        if lacking:
            raise ConfigError(
                f"Delta table {self._place.uri} has {', '.join(lacking)}, which is not supported. Nothing was read. "
                "Remove it from the table, or write to another one."
            )

    def evolve(self, unknown: NewColumns) -> bool:
        """Give the table columns for unknown fields, and make it when it is not there; False when nothing changed.

        Raises ConfigError for columns that Delta cannot have, ServiceUnavailable.
        """
        self._load()
        columns = self._fitting(unknown)
        if columns == self._columns and self._table is not None:
            return bool(self._full)
        whole = pa.schema([*arrow_of(columns), *arrow_of(self._of_folders(columns))])
        try:
            if self._table is None:
                DeltaTable.create(
                    self._place.uri,
                    whole,
                    mode="ignore",
                    partition_by=self._partition_columns,
                    name=self._config.table_name,
                    configuration={"delta.checkpointInterval": str(self._config.checkpoint_interval)},
                    storage_options=self._place.options(),
                )
            else:
                write_deltalake(self._table, whole.empty_table(), mode="append", schema_mode="merge")
        except (DeltaError, OSError, ValueError) as error:
            raise self._translated(error, "cannot get the columns that its records need") from error
        names = [column.name for column in columns.fields if column not in self._columns.fields]
        said = "connector %s, Delta table %s: columns %s are new or wider"
        told = event("table evolved", self._connector)
        logger.info(said, self._connector, self._place.uri, ", ".join(names), extra=told)
        self._load()
        return True

    def _fitting(self, unknown: NewColumns) -> Struct:
        """The columns with those of the unknown fields that the table has room for, those with the fewest first.

        Objects whose keys are data are maps; where there is too little room, those whose keys grow with the records.
        """
        most = self._config.max_columns
        left = most + 1 - column_count(self._columns)  # the row itself counts as one
        fields = with_fewer(with_maps(unknown.fields, unknown.seen), unknown.seen, left)
        whole = widened(self._columns, fields)
        if column_count(whole) <= most + 1:
            return whole
        self._full = f"the table would have more than {most:,} columns; {MOST} allows no more"
        columns = self._columns
        for path, type_ in sorted(fields.items(), key=lambda each: (column_count(each[1]), each[0])):
            wider = widened(columns, {path: type_})
            if column_count(wider) > most + 1:
                break
            columns = wider
        return columns

    def commit(self, objects: Sequence[StoredObject], reached: Mapping[TopicPartition, int]) -> None:
        """Add files, and move the offsets of their partitions, in one commit; nothing happens without either.

        Raises Fenced when another worker has moved them, CommitConflict or ServiceUnavailable when it may be tried
        again.
        """
        moved = {key: offset for key, offset in reached.items() if offset != self._offsets.get(key)}
        if not moved or (not objects and self._table is None):
            return
        self._load()
        assert self._table is not None  # noqa: S101 - files have its columns
        self._check_offsets(moved)
        transactions = [Transaction(self._app(key), offset) for key, offset in moved.items()]
        try:
            self._table.create_write_transaction(
                [self._added(one) for one in objects if one.name.endswith(".parquet")],
                "append",
                self._table.schema(),
                self._partition_columns,
                commit_properties=CommitProperties(app_transactions=transactions),
            )
        except (DeltaError, OSError) as error:
            if not self._after_failure(moved):
                raise self._refused(error) from error
        self._offsets |= moved
        self._maintain()

    def _refused(self, error: Exception) -> FrazilError:
        if isinstance(error, CommitFailedError):
            return CommitConflict(
                f"Delta table {self._place.uri} was changed by others at the same time ({cause(error)}); the files are "
                "added in the next attempt"
            )
        return self._translated(error, "does not take a commit")

    def _after_failure(self, moved: Mapping[TopicPartition, int]) -> bool:
        """Tell whether the table has a commit that seemed to fail."""
        try:
            self._load()
        except ServiceUnavailable:
            return False
        assert self._table is not None  # noqa: S101
        if all(self._table.transaction_version(self._app(key)) == offset for key, offset in moved.items()):
            return True
        self._check_offsets(moved)
        return False

    def _check_offsets(self, moved: Mapping[TopicPartition, int]) -> None:
        assert self._table is not None  # noqa: S101
        for key in moved:
            now = self._table.transaction_version(self._app(key))
            if now != self._offsets.get(key):
                raise Fenced(
                    f"another worker has written {key[0]}-{key[1]} of connector {self._connector} up to offset {now} "
                    f"into {self._place.uri}. Nothing was added to the table by this one. See that the connector runs "
                    "once."
                )

    def _maintain(self) -> None:
        """Put small files together and delete old ones when it is time; failing is no harm to what is stored."""
        assert self._table is not None  # noqa: S101
        config = self._config
        if config.optimize_interval is None and config.vacuum_hours is None:
            return
        if self._table.version() % (config.optimize_interval or _VACUUM_INTERVAL):
            return
        try:
            if config.optimize_interval is not None:
                done = self._table.optimize.compact()
                if done["numFilesRemoved"]:
                    what = "connector %s: %s files of %s became %s"
                    logger.info(what, self._connector, done["numFilesRemoved"], self._place.uri, done["numFilesAdded"])
            if config.vacuum_hours is not None:
                hours = config.vacuum_hours
                gone = self._table.vacuum(hours, dry_run=False, enforce_retention_duration=hours >= _SAFE_HOURS)
                logger.info("connector %s: %d old files of %s are gone", self._connector, len(gone), self._place.uri)
        except (DeltaError, OSError) as error:
            logger.warning("connector %s: maintenance of %s failed: %s", self._connector, self._place.uri, error)

    def _load(self) -> None:
        try:
            if self._table is None:
                self._table = DeltaTable(self._place.uri, storage_options=self._place.options())
            else:
                self._table.update_incremental()
        except TableNotFoundError:
            self._table, self._columns = None, Struct(())
            return
        except (DeltaError, OSError) as error:
            raise self._translated(error, "cannot be read") from error
        found = columns_of(pa.schema(self._table.schema().to_arrow()))
        hidden = self._folder_columns()
        self._columns = Struct(tuple(field for field in found.fields if field.name not in hidden))

    def _folder_columns(self) -> set[str]:
        """Columns that are made for folders alone: of the record's time, and of fields inside others."""
        return {name for name in self._partition_columns if name in TIME_COLUMNS or "." in name}

    def _of_folders(self, columns: Struct) -> Struct:
        """Columns that are in folders and not in files."""
        known = {field.name for field in columns.fields}
        return Struct(
            tuple(
                Field(name, Scalar("int" if name in TIME_COLUMNS else "string"))
                for name in self._partition_columns
                if name not in known
            )
        )

    def _added(self, stored: StoredObject) -> AddAction:
        path = stored.name.removeprefix(f"{self._place.root}/" if self._place.root else "")
        values = column_values(path, self._partition_columns)
        return AddAction(
            path,
            stored.size,
            {name: _number(value) if name in TIME_COLUMNS else value for name, value in values.items()},
            round(time.time() * 1000),
            True,
            json.dumps({"numRecords": stored.count}),
        )

    def _app(self, key: TopicPartition) -> str:
        return f"frazil/{self._connector}/{key[0]}/{key[1]}"

    def _translated(self, error: Exception, what: str) -> FrazilError:
        if isinstance(error, ValueError | SchemaMismatchError | DeltaProtocolError) or "Schema error" in str(error):
            return ConfigError(
                f"Delta table {self._place.uri} {what}: {cause(error)}. Nothing of this batch was stored."
            )
        return ServiceUnavailable(f"Delta table {self._place.uri} {what}: {cause(error)}; the records are read again")


def cause(error: Exception) -> str:
    """The words of an error of delta-rs in one line: without its colours, and of a store's answer the message alone."""
    words = _S3_ERROR.sub(r"\1: \2", _COLOUR.sub("", str(error)))
    return ": ".join(part.strip(" .\n") for part in words.split("↳"))


def _number(value: str | None) -> str | None:
    """Strip the leading zeros that the folder's name has."""
    return None if value is None else str(int(value))


def delta_target(config: ObjectSinkConfig, store: ObjectStoreConfig) -> DeltaTarget | None:
    """The table of a connector that writes one, with access to its store."""
    if config.delta is None:
        return None
    place = Place(store, config.layout.topics_dir.strip("/"))
    return DeltaTarget(config.delta, place, config.name, config.partitioning.fields)
