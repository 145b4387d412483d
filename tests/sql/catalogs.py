"""A catalog whose tables exist as metadata only, for tests that read names and schemas and no data."""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import load_file_io
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import SortOrder
from pyiceberg.typedef import Identifier

from frazil.minio.questions.views import QUESTION_VIEWS
from frazil.minio.records.tables import API_SCHEMA, AUDIT_SCHEMA, ERROR_SCHEMA
from frazil.sql.engine import Engine
from frazil.sql.names import Names
from frazil.sql.session import session
from frazil.sql.statements import split
from frazil.sql.translate import Translation, translate

LOG_TABLES = {"apilogs": API_SCHEMA, "errorlogs": ERROR_SCHEMA, "auditlogs": AUDIT_SCHEMA}


class MetadataCatalog(NoopCatalog):
    """One namespace, `streaming`, of empty tables."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        super().__init__("memory")
        self.loads = 0
        self._schemas = schemas

    def load_table(self, identifier: str | Identifier) -> Table:
        namespace, name = self.namespace_from(identifier), self.table_name_from(identifier)
        if namespace != ("streaming",) or name not in self._schemas:
            raise NoSuchTableError(str(identifier))
        self.loads += 1
        location = f"s3://warehouse/{name}"
        metadata = new_table_metadata(self._schemas[name], PartitionSpec(), SortOrder(), location)
        return Table(("streaming", name), metadata, f"{location}/v1.json", load_file_io(), self)

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        return [("streaming", name) for name in self._schemas] if namespace == ("streaming",) else []

    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        return [("streaming",)]


def log_names() -> Names:
    return Names(MetadataCatalog(LOG_TABLES), "s3://kafkawarehouse", "streaming", QUESTION_VIEWS)


def translated(sql: str, schemas: dict[str, Schema] | None = None) -> Translation:
    """The translation of one statement on empty tables; the three of the logs unless others are given."""
    [statement] = split(sql)
    names = Names(MetadataCatalog(schemas or LOG_TABLES), "s3://kafkawarehouse", "streaming", QUESTION_VIEWS)
    with session(256 << 20) as opened:
        return translate(statement, names, opened.evaluate)


def computed(sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement that reads no table."""
    [result] = Engine(MetadataCatalog({}), "s3://kafkawarehouse", "streaming", 256 << 20).run(sql)
    return list(result.rows)
