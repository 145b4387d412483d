"""The statement of a connector over the rows of an Iceberg table, in place of the records of its topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from frazil.clients.catalog import catalog_errors
from frazil.clients.kafka import client as kafka_client
from frazil.connectors.backfill import Span, digest_of
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.commit import Floor, TableBranch
from frazil.connectors.positions import KafkaIdentity
from frazil.connectors.sql.backfill import StatementBackfill
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.table_source import TableSource
from frazil.errors import NotFound, UsageError

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
