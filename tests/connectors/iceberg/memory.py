"""A catalog of one table in memory, which PyIceberg's own rules change: hundreds of commits a second, for models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import BadRequestError, CommitFailedException, CommitStateUnknownException
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata
from pyiceberg.typedef import Identifier


class MemoryCatalog(NoopCatalog):
    """`faults` are what happens to the next commits, one each; `meanwhile` is called once before the next commit."""

    def __init__(self, folder: Path, schema: Schema) -> None:
        super().__init__("memory")
        self._metadata = new_table_metadata(
            schema, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, folder.as_uri(), {}
        )
        self.faults: list[str] = []
        self.meanwhile: Callable[[], None] | None = None

    def load_table(self, identifier: str | Identifier) -> Table:
        return Table(("ns", "t"), self._metadata, "memory://t", PyArrowFileIO(), self)

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
        for requirement in requirements:
            requirement.validate(self._metadata)
        try:
            self._metadata = update_table_metadata(self._metadata, updates)
        except ValueError as error:
            raise BadRequestError(str(error)) from error  # as a REST catalog answers
        if fault == "lost after":
            raise CommitStateUnknownException("by the test")
        return CommitTableResponse(metadata=self._metadata, **{"metadata-location": "memory://t"})
