"""A catalog in memory, which PyIceberg's own rules change: hundreds of commits a second, for models."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
)
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from tests.connectors.broker import Killed


class MemoryCatalog(NoopCatalog):
    """Tables whose files are in a folder.

    `faults` are what happens to the next commits, one each: "refused", "lost before", "lost after", and "killed
    before" and "killed after", which raise Killed. `meanwhile` is called once before the next commit. So many of the
    next loads as `away` says fail.
    """

    def __init__(self, folder: Path, tables: Mapping[str, Schema]) -> None:
        super().__init__("memory")
        self._folder = folder
        self._tables: dict[Identifier, TableMetadata] = {}
        self._lock = threading.Lock()
        self._namespaces: set[str | Identifier] = set()
        self.faults: list[str] = []
        self.meanwhile: Callable[[], None] | None = None
        self.away = 0
        for name, schema in tables.items():
            self.create_table(name, schema)

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        if namespace in self._namespaces:
            raise NamespaceAlreadyExistsError(str(namespace))
        self._namespaces.add(namespace)

    def create_table(
        self,
        identifier: str | Identifier,
        schema: Schema,
        location: str | None = None,
        partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        sort_order: SortOrder = UNSORTED_SORT_ORDER,
        properties: Properties = EMPTY_DICT,
    ) -> Table:
        name = self.identifier_to_tuple(identifier)
        if name in self._tables:
            raise TableAlreadyExistsError(str(identifier))
        place = (self._folder / ".".join(name)).as_uri()
        self._tables[name] = new_table_metadata(schema, partition_spec, sort_order, place, dict(properties))
        return self.load_table(name)

    def load_table(self, identifier: str | Identifier) -> Table:
        if self.away:
            self.away -= 1
            raise ServiceUnavailableError("by the test")
        name = self.identifier_to_tuple(identifier)
        return Table(name, self._metadata(name), f"memory://{'.'.join(name)}", PyArrowFileIO(), self)

    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        parent = self.identifier_to_tuple(namespace)
        found = {name[: len(parent) + 1] for name in self._tables if name[: len(parent)] == parent}
        return sorted(each for each in found if each not in self._tables)

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        return sorted(name for name in self._tables if name[:-1] == self.identifier_to_tuple(namespace))

    def table_exists(self, identifier: str | Identifier) -> bool:
        return self.identifier_to_tuple(identifier) in self._tables

    def drop_table(self, identifier: str | Identifier) -> None:
        del self._tables[self.identifier_to_tuple(identifier)]

    def replace_metadata(self, identifier: str, metadata: TableMetadata) -> None:
        """Change a table as only a catalog can."""
        self._tables[self.identifier_to_tuple(identifier)] = metadata

    def _metadata(self, name: Identifier) -> TableMetadata:
        if name not in self._tables:
            raise NoSuchTableError(str(name))
        return self._tables[name]

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        fault = self.faults.pop(0) if self.faults else "none"
        if fault == "refused":
            raise CommitFailedException("by the test")
        if fault == "lost before":
            raise CommitStateUnknownException("by the test")
        if fault == "killed before":
            raise Killed
        name = table.name()
        with self._lock:
            metadata = self._metadata(name)
            for requirement in requirements:
                requirement.validate(metadata)
            try:
                self._tables[name] = update_table_metadata(metadata, updates)
            except ValueError as error:
                raise BadRequestError(str(error)) from error  # as a REST catalog answers
        if fault == "lost after":
            raise CommitStateUnknownException("by the test")
        if fault == "killed after":
            raise Killed
        return CommitTableResponse(metadata=self._tables[name], **{"metadata-location": table.metadata_location})
